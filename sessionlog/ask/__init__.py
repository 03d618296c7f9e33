"""Questions to the archive: search, counts, SQL, audits."""
