"""What happened in a session."""
