"""Into the settings of Claude Code and out again; `validate` and `doctor`."""
