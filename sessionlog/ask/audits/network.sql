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
        SELECT id, session_id, coalesce(started_at, finished_at) AS at, agent_id, tool_name, command
        FROM tool_calls
        WHERE action = 'run' AND coalesce(started_at, finished_at, '') >= :since
            AND (id < 0 OR id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            )))
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
SELECT at, session_id, tool_name, command AS target, agent_id
FROM worded CROSS JOIN rules
WHERE words GLOB pattern
    AND NOT (words GLOB '* curl *' AND (words GLOB '*//localhost*' OR words GLOB '*//127.0.0.1*'))
GROUP BY session_id, id
UNION ALL
SELECT
    coalesce(started_at, finished_at), session_id, tool_name,
    iif(json_valid(tool_input),
        coalesce(json_extract(tool_input, '$.url'), json_extract(tool_input, '$.query')), tool_input),
    agent_id
FROM tool_calls
WHERE action = 'fetch' AND coalesce(started_at, finished_at, '') >= :since
ORDER BY at DESC
