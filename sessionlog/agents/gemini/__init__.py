"""Gemini CLI: its events, its settings, its transcripts."""
