"""Takes secrets out of what is recorded."""
