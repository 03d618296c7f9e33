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
    -- A call's start, its end, and what its transcript says.
    calls AS (
        SELECT id, session_id, at, agent_id, tool_name, tool_use_id, event, action, command, tool_input
        FROM events
        WHERE event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure') AND action IN ('run', 'fetch')
            AND at >= :since AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
        UNION ALL
        SELECT -id, session_id, at, agent_id, tool_name, tool_use_id, '', action, command, text
        FROM transcript_parts
        WHERE kind = 'tool_use' AND action IN ('run', 'fetch') AND coalesce(at, '') >= :since
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM transcript_parts
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
    ),
    -- Most commands have none of these words.
    suspects AS (
        SELECT * FROM calls
        WHERE action = 'fetch' OR instr(command, 'curl ') OR instr(command, 'wget ') OR instr(command, 'ssh ') OR instr(command, 'scp ')
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
SELECT
    at, session_id, tool_name,
    CASE
        WHEN action = 'run' THEN command
        WHEN json_valid(tool_input) THEN coalesce(json_extract(tool_input, '$.url'), json_extract(tool_input, '$.query'))
        ELSE tool_input
    END AS target,
    agent_id
FROM worded
WHERE (
        action = 'fetch' OR (
            EXISTS (SELECT 1 FROM rules WHERE words GLOB pattern)
            AND NOT (words GLOB '* curl *' AND (words GLOB '*//localhost*' OR words GLOB '*//127.0.0.1*'))
        )
    )
    -- Each call once: by the first that is known of it.
    AND (event = 'PreToolUse' OR NOT EXISTS (
        SELECT 1 FROM events AS first
        WHERE first.tool_use_id = worded.tool_use_id AND first.session_id = worded.session_id
            AND first.event IN (
                'PreToolUse', iif(worded.id < 0, 'PostToolUse', ''), iif(worded.id < 0, 'PostToolUseFailure', '')
            )
    ))
ORDER BY at DESC
