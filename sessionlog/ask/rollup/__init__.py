"""What lists, charts and statistics count, counted once."""
