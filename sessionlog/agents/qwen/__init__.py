"""Qwen Code: its events, its settings, its transcripts."""
