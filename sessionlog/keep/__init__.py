"""Keeping the archive small and clean: prune, redact, backup, merge."""
