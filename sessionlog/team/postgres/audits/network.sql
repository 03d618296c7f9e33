-- Made from sessionlog/ask/audits/network.sql by tools/generate.py. Do not edit. $1 is :since.

WITH rules(pattern) AS MATERIALIZED (
  SELECT
    value
  FROM json_each(
    '[
            "* curl *", "* wget *", "* ssh *", "* scp *", "* sftp *", "* rsync *:*", "* nc *", "* ncat *",
            "* telnet *", "* ftp *", "* git push*", "* git clone *", "* gh api *", "* invoke-webrequest *",
            "* invoke-restmethod *", "* iwr *", "* irm *", "* aws s3 cp *", "* aws s3 sync *", "* gsutil cp *",
            "* rclone *", "* docker push *", "* npm publish*", "* twine upload*"
        ]'
  )
), calls AS (
  SELECT
    id,
    session_id,
    COALESCE(started_at, finished_at) AS at,
    agent_id,
    tool_name,
    command
  FROM tool_calls
  WHERE
    action = 'run'
    AND COALESCE(started_at, finished_at, '') >= CAST($1 AS TEXT)
    AND (
      id < 0 OR TRUE
    )
), suspects AS (
  SELECT
    *
  FROM calls
  WHERE
    (
      instr(command, 'curl ') <> 0
    )
    OR (
      instr(command, 'wget ') <> 0
    )
    OR (
      instr(command, 'ssh ') <> 0
    )
    OR (
      instr(command, 'scp ') <> 0
    )
    OR (
      instr(command, 'ftp ') <> 0
    )
    OR (
      instr(command, 'rsync ') <> 0
    )
    OR (
      instr(command, 'nc ') <> 0
    )
    OR (
      instr(command, 'ncat ') <> 0
    )
    OR (
      instr(command, 'telnet ') <> 0
    )
    OR (
      instr(command, 'git ') <> 0
    )
    OR (
      instr(command, 'gh ') <> 0
    )
    OR (
      instr(command, 'aws ') <> 0
    )
    OR (
      instr(command, 'gsutil ') <> 0
    )
    OR (
      instr(command, 'rclone ') <> 0
    )
    OR (
      instr(command, 'docker ') <> 0
    )
    OR (
      instr(command, 'publish') <> 0
    )
    OR (
      instr(command, 'upload') <> 0
    )
    OR (
      instr(command, 'iwr ') <> 0
    )
    OR (
      instr(command, 'irm ') <> 0
    )
    OR command ILIKE '%invoke-%'
), worded AS MATERIALIZED (
  SELECT
    *,
    LOWER(
      REPLACE(
        REPLACE(
          REPLACE(
            REPLACE(
              REPLACE(
                REPLACE(
                  REPLACE(
                    REPLACE(
                      REPLACE(
                        REPLACE(REPLACE(REPLACE(' ' || command || ' ', chr(10), ' '), chr(9), ' '), '"', ' '),
                        '''',
                        ' '
                      ),
                      '(',
                      ' '
                    ),
                    ')',
                    ' '
                  ),
                  ';',
                  ' '
                ),
                '&',
                ' '
              ),
              '|',
              ' | '
            ),
            '/bin/',
            ' '
          ),
          '  ',
          ' '
        ),
        '  ',
        ' '
      )
    ) AS words
  FROM suspects
)
SELECT
  MIN(at) AS at,
  session_id,
  MIN(tool_name) AS tool_name,
  MIN(command) AS target,
  MIN(agent_id) AS agent_id
FROM worded
CROSS JOIN rules
WHERE
  glob(pattern, words)
  AND NOT (
    glob('* curl *', words)
    AND (
      glob('*//localhost*', words) OR glob('*//127.0.0.1*', words)
    )
  )
GROUP BY
  session_id,
  id
UNION ALL
SELECT
  COALESCE(started_at, finished_at),
  session_id,
  tool_name,
  CASE
    WHEN json_valid(tool_input)
    THEN COALESCE(json_extract(tool_input, '$.url'), json_extract(tool_input, '$.query'))
    ELSE tool_input
  END,
  agent_id
FROM tool_calls
WHERE
  action = 'fetch' AND COALESCE(started_at, finished_at, '') >= CAST($1 AS TEXT)
ORDER BY
  at DESC NULLS LAST
