-- What happened first is what was recorded first, though the clock was set back; and compactions that only hooks saw
-- count. These are made anew from archive/schema.sql.
DROP VIEW IF EXISTS turns;
DROP VIEW IF EXISTS session_summary;
