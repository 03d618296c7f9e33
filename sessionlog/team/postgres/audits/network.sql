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
    at,
    agent_id,
    tool_name,
    tool_use_id,
    command
  FROM events
  WHERE
    event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure')
    AND action = 'run'
    AND at >= CAST($1 AS TEXT)
    AND TRUE
  UNION ALL
  SELECT
    -id,
    session_id,
    at,
    agent_id,
    tool_name,
    tool_use_id,
    COALESCE(
      CASE WHEN json_valid(text) THEN json_extract(text, '$.command') ELSE NULL END,
      text
    )
  FROM transcript_parts
  WHERE
    NOT tool_use_id IS NULL
    AND kind = 'tool_use'
    AND action = 'run'
    AND COALESCE(at, '') >= CAST($1 AS TEXT)
    AND NOT EXISTS(
      SELECT
        1
      FROM events
      WHERE
        events.tool_use_id = transcript_parts.tool_use_id
        AND events.session_id = transcript_parts.session_id
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
  MAX(command) AS target,
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
  COALESCE(tool_use_id, CAST(id AS TEXT))
UNION ALL
SELECT
  MIN(at),
  session_id,
  (
    ARRAY_AGG(tool_name ORDER BY at ASC)
  )[1] AS tool_name,
  CASE
    WHEN json_valid((
      ARRAY_AGG(tool_input ORDER BY at ASC)
    )[1])
    THEN COALESCE(
      json_extract((
        ARRAY_AGG(tool_input ORDER BY at ASC)
      )[1], '$.url'),
      json_extract((
        ARRAY_AGG(tool_input ORDER BY at ASC)
      )[1], '$.query')
    )
    ELSE (
      ARRAY_AGG(tool_input ORDER BY at ASC)
    )[1]
  END,
  (
    ARRAY_AGG(agent_id ORDER BY at ASC)
  )[1] AS agent_id
FROM events
WHERE
  event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure')
  AND action = 'fetch'
  AND at >= CAST($1 AS TEXT)
GROUP BY
  session_id,
  COALESCE(tool_use_id, CAST(id AS TEXT))
ORDER BY
  at DESC NULLS LAST
