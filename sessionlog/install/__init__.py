"""Registers hooks in settings files and removes them; `validate` and `doctor`."""
