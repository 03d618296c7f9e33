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
    event,
    action,
    command,
    tool_input
  FROM events
  WHERE
    event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure')
    AND action IN ('run', 'fetch')
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
    '',
    action,
    command,
    text
  FROM transcript_parts
  WHERE
    kind = 'tool_use'
    AND action IN ('run', 'fetch')
    AND (
      at >= CAST($1 AS TEXT) OR (
        at IS NULL AND CAST($1 AS TEXT) = ''
      )
    )
    AND TRUE
), suspects AS (
  SELECT
    *
  FROM calls
  WHERE
    action = 'fetch'
    OR (
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
  at,
  session_id,
  tool_name,
  CASE
    WHEN action = 'run'
    THEN command
    WHEN json_valid(tool_input)
    THEN COALESCE(json_extract(tool_input, '$.url'), json_extract(tool_input, '$.query'))
    ELSE tool_input
  END AS target,
  agent_id
FROM worded
WHERE
  (
    action = 'fetch'
    OR (
      EXISTS(
        SELECT
          1
        FROM rules
        WHERE
          glob(pattern, words)
      )
      AND NOT (
        glob('* curl *', words)
        AND (
          glob('*//localhost*', words) OR glob('*//127.0.0.1*', words)
        )
      )
    )
  )
  AND (
    event = 'PreToolUse'
    OR NOT EXISTS(
      SELECT
        1
      FROM events AS first
      WHERE
        first.tool_use_id = worded.tool_use_id
        AND first.session_id = worded.session_id
        AND first.event IN (
          'PreToolUse',
          CASE WHEN worded.id < 0 THEN 'PostToolUse' ELSE '' END,
          CASE WHEN worded.id < 0 THEN 'PostToolUseFailure' ELSE '' END
        )
    )
  )
ORDER BY
  at DESC NULLS LAST
