"""Sessions as files for others: JSONL, Markdown, HTML."""
