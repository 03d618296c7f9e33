"""Transcripts: imported, stored, restored."""
