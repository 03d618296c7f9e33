"""What Claude Code runs: an event from stdin to the archive. Nothing here may be slow."""
