-- title: Secrets that were redacted, and where else
-- group: Risks
-- finding: yes
-- parameter since: only what happened at this time or later; empty means everything
--
-- Each redacted secret by its fingerprint: in which sessions it came up, where in them, how often; the same
-- fingerprint is the same secret, in other sessions too.

WITH RECURSIVE
    texts AS (
        SELECT session_id, at, coalesce(tool_name, event) || ' ' || field.key AS place, field.value AS text
        FROM events, json_each(json_object(
            'prompt', prompt, 'message', message, 'error', error, 'answer', last_assistant_message,
            'file_path', file_path, 'old_string', old_string, 'new_string', new_string, 'content', content,
            'command', command, 'description', description, 'input', tool_input, 'output', tool_response,
            'extra', extra
        )) AS field
        WHERE at >= :since
            AND events.id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
            AND (
                instr(prompt, '[redacted:') OR instr(command, '[redacted:') OR instr(tool_response, '[redacted:')
                OR instr(content, '[redacted:') OR instr(new_string, '[redacted:') OR instr(old_string, '[redacted:')
                OR instr(tool_input, '[redacted:') OR instr(error, '[redacted:') OR instr(extra, '[redacted:')
                OR instr(last_assistant_message, '[redacted:') OR instr(message, '[redacted:')
                OR instr(description, '[redacted:') OR instr(file_path, '[redacted:')
            )
        UNION ALL
        SELECT session_id, at, 'transcript ' || kind, coalesce(text, '') || coalesce(thinking, '')
        FROM transcript_parts
        WHERE coalesce(at, '') >= :since AND (instr(text, '[redacted:') OR instr(thinking, '[redacted:'))
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM transcript_parts
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
    ),
    -- One marker after the other; a text with very many says no more after a hundred.
    markers (session_id, at, place, marker, rest, number) AS (
        SELECT session_id, at, place, '', text, 0 FROM texts WHERE instr(text, '[redacted:')
        UNION ALL
        SELECT
            session_id, at, place,
            substr(rest, instr(rest, '[redacted:') + 10, 80),
            substr(rest, instr(rest, '[redacted:') + 10),
            number + 1
        FROM markers
        WHERE number < 100 AND instr(rest, '[redacted:')
    ),
    found AS (
        SELECT session_id, at, place, substr(marker, 1, instr(marker, ']') - 1) AS marker
        FROM markers
        WHERE marker GLOB '?*:[0-9a-f][0-9a-f]*]*'
    )
SELECT
    substr(marker, instr(marker, ':') + 1) AS fingerprint, substr(marker, 1, instr(marker, ':') - 1) AS kind,
    count(*) OVER (PARTITION BY marker) AS in_sessions, session_id, min(at) AS first_at, max(at) AS last_at,
    count(*) AS times, group_concat(DISTINCT place) AS places
FROM found
GROUP BY marker, session_id
ORDER BY in_sessions DESC, marker, first_at
