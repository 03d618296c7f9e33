"""Checks the hooks in settings files and plugins."""
