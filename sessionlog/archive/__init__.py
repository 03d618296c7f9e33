"""One project's SQLite file, and the files beside it."""
