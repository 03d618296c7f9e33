"""GitHub Copilot CLI: its events, its settings, its transcripts."""
