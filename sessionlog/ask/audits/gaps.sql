-- title: What is missing
-- group: Trouble
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Tool calls that only the transcript knows (the hooks were off), tool calls that only the hooks know (the transcript
-- was cut), sessions without a transcript (it was deleted or never imported), sessions without an end, transcripts
-- that changed after they were archived.

SELECT session_id, gap, at, tool_name, tool_use_id, detail FROM (
    SELECT
        session_id, 'only in the transcript' AS gap, started_at AS at, tool_name, tool_use_id,
        substr(coalesce(command, file_path, tool_input), 1, 80) AS detail
    FROM tool_calls
    WHERE id < 0 AND tool_use_id IS NOT NULL
    UNION ALL
    SELECT
        events.session_id, 'only in the hooks', min(events.at), events.tool_name, events.tool_use_id,
        substr(coalesce(command, file_path, description, tool_input), 1, 80)
    FROM sessions CROSS JOIN events ON events.session_id = sessions.session_id AND events.at >= :since
    WHERE sessions.last_at >= :since
        AND EXISTS (SELECT 1 FROM transcript_parts WHERE transcript_parts.session_id = sessions.session_id)
        AND events.tool_use_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM transcript_parts
            WHERE transcript_parts.tool_use_id = events.tool_use_id AND transcript_parts.session_id = events.session_id
        )
    GROUP BY events.session_id, events.tool_use_id
    UNION ALL
    SELECT session_id, 'no transcript', last_at, NULL, NULL, transcript_path
    FROM sessions
    WHERE events > 0 AND NOT EXISTS (SELECT 1 FROM transcript_parts WHERE transcript_parts.session_id = sessions.session_id)
    UNION ALL
    SELECT session_id, 'no end', last_at, NULL, NULL, 'the last sign of it is of ' || last_at
    FROM sessions
    WHERE events > 0 AND ended_at IS NULL
    UNION ALL
    SELECT
        session_id, 'changed after it was archived', first_import_at, NULL, NULL,
        name || ' is archived in version ' || generation
    FROM transcripts
    WHERE generation > 1
)
WHERE coalesce(at, '') >= :since
ORDER BY session_id, at
