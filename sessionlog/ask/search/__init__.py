"""Search: full text by an index, or a scan."""
