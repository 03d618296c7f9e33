"""Codex CLI: its events, its settings, its transcripts."""
