-- title: What reached the network
-- group: Risks
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Pages fetched and searches made by the client's own tools, and shell commands that copy, fetch, push or log in to
-- elsewhere; those that name this machine alone are left out.

WITH
    rules (pattern) AS MATERIALIZED (
        SELECT value
        FROM json_each('[
            "* curl *", "* wget *", "* ssh *", "* scp *", "* sftp *", "* rsync *:*", "* nc *", "* ncat *",
            "* telnet *", "* ftp *", "* git push*", "* git clone *", "* gh api *", "* invoke-webrequest *",
            "* invoke-restmethod *", "* iwr *", "* irm *", "* aws s3 cp *", "* aws s3 sync *", "* gsutil cp *",
            "* rclone *", "* docker push *", "* npm publish*", "* twine upload*"
        ]')
    ),
    calls AS (
        SELECT id, session_id, at, agent_id, tool_name, tool_use_id, command
        FROM events
        WHERE event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure') AND action = 'run'
            AND at >= :since
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
        UNION ALL
        SELECT -id, session_id, at, agent_id, tool_name, tool_use_id,
            coalesce(iif(json_valid(text), json_extract(text, '$.command'), NULL), text)
        FROM transcript_parts
        WHERE tool_use_id IS NOT NULL AND kind = 'tool_use' AND action = 'run'
            AND coalesce(at, '') >= :since
            AND NOT EXISTS (
                SELECT 1 FROM events
                WHERE events.tool_use_id = transcript_parts.tool_use_id AND events.session_id = transcript_parts.session_id
            )
    ),
    -- Most commands have none of these words.
    suspects AS (
        SELECT * FROM calls
        WHERE instr(command, 'curl ') OR instr(command, 'wget ') OR instr(command, 'ssh ') OR instr(command, 'scp ')
            OR instr(command, 'ftp ') OR instr(command, 'rsync ') OR instr(command, 'nc ') OR instr(command, 'ncat ')
            OR instr(command, 'telnet ') OR instr(command, 'git ') OR instr(command, 'gh ') OR instr(command, 'aws ')
            OR instr(command, 'gsutil ') OR instr(command, 'rclone ') OR instr(command, 'docker ')
            OR instr(command, 'publish') OR instr(command, 'upload') OR instr(command, 'iwr ')
            OR instr(command, 'irm ') OR command LIKE '%invoke-%'
    ),
    worded AS MATERIALIZED (
        SELECT *, lower(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
            replace(' ' || command || ' ', char(10), ' '), char(9), ' '), '"', ' '), '''', ' '), '(', ' '),
            ')', ' '), ';', ' '), '&', ' '), '|', ' | '), '/bin/', ' '), '  ', ' '), '  ', ' ')) AS words
        FROM suspects
    )
SELECT min(at) AS at, session_id, tool_name, max(command) AS target, agent_id
FROM worded CROSS JOIN rules
WHERE words GLOB pattern
    AND NOT (words GLOB '* curl *' AND (words GLOB '*//localhost*' OR words GLOB '*//127.0.0.1*'))
GROUP BY session_id, coalesce(tool_use_id, id)
UNION ALL
SELECT
    min(at), session_id, tool_name,
    iif(json_valid(tool_input),
        coalesce(json_extract(tool_input, '$.url'), json_extract(tool_input, '$.query')), tool_input),
    agent_id
FROM events
WHERE event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure') AND action = 'fetch'
    AND at >= :since
GROUP BY session_id, coalesce(tool_use_id, id)
ORDER BY at DESC
