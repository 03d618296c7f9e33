"""opencode: its events, its settings, its transcripts."""
