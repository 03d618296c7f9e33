"""Where a line of a file comes from: recorded edits and git history, put together."""
