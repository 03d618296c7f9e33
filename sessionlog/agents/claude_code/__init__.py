"""Claude Code: its events, its transcript files, its prices."""
