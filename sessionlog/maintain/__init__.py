"""Prune, redact, merge, back up and verify an archive."""
