-- Made from sessionlog/ask/audits/secrets.sql by tools/generate.py. Do not edit. $1 is :since.

WITH RECURSIVE texts AS (
  SELECT
    session_id,
    at,
    COALESCE(tool_name, event) || ' ' || field.key AS place,
    field.value AS text
  FROM events
  CROSS JOIN json_each(
    CAST(json_build_object(
      'prompt',
      prompt,
      'message',
      message,
      'error',
      error,
      'answer',
      last_assistant_message,
      'file_path',
      file_path,
      'old_string',
      old_string,
      'new_string',
      new_string,
      'content',
      content,
      'command',
      command,
      'description',
      description,
      'input',
      tool_input,
      'output',
      tool_response,
      'extra',
      extra
    ) AS TEXT)
  ) AS field
  WHERE
    at >= CAST($1 AS TEXT)
    AND TRUE
    AND (
      (
        instr(prompt, '[redacted:') <> 0
      )
      OR (
        instr(command, '[redacted:') <> 0
      )
      OR (
        instr(tool_response, '[redacted:') <> 0
      )
      OR (
        instr(content, '[redacted:') <> 0
      )
      OR (
        instr(new_string, '[redacted:') <> 0
      )
      OR (
        instr(old_string, '[redacted:') <> 0
      )
      OR (
        instr(tool_input, '[redacted:') <> 0
      )
      OR (
        instr(error, '[redacted:') <> 0
      )
      OR (
        instr(extra, '[redacted:') <> 0
      )
      OR (
        instr(last_assistant_message, '[redacted:') <> 0
      )
      OR (
        instr(message, '[redacted:') <> 0
      )
      OR (
        instr(description, '[redacted:') <> 0
      )
      OR (
        instr(file_path, '[redacted:') <> 0
      )
    )
  UNION ALL
  SELECT
    session_id,
    at,
    'transcript ' || kind,
    COALESCE(text, '') || COALESCE(thinking, '')
  FROM transcript_parts
  WHERE
    (
      at >= CAST($1 AS TEXT) OR (
        at IS NULL AND CAST($1 AS TEXT) = ''
      )
    )
    AND (
      (
        instr(text, '[redacted:') <> 0
      ) OR (
        instr(thinking, '[redacted:') <> 0
      )
    )
    AND TRUE
), markers(session_id, at, place, marker, rest, number) AS (
  SELECT
    session_id COLLATE "C",
    at COLLATE "C",
    place COLLATE "C",
    '' COLLATE "C",
    text COLLATE "C",
    0
  FROM texts
  WHERE
    (
      instr(text, '[redacted:') <> 0
    )
  UNION ALL
  SELECT
    session_id,
    at,
    place,
    piece(rest, POSITION('[redacted:' IN rest) + 10, 80),
    SUBSTRING(rest FROM instr(rest, '[redacted:') + 10),
    number + 1
  FROM markers
  WHERE
    number < 100 AND (
      instr(rest, '[redacted:') <> 0
    )
), found AS (
  SELECT
    session_id,
    at,
    place,
    piece(marker, 1, POSITION(']' IN marker) - 1) AS marker
  FROM markers
  WHERE
    glob('?*:[0-9a-f][0-9a-f]*]*', marker)
)
SELECT
  SUBSTRING(marker FROM instr(marker, ':') + 1) AS fingerprint,
  piece(marker, 1, POSITION(':' IN marker) - 1) AS kind,
  COUNT(*) OVER (PARTITION BY marker) AS in_sessions,
  session_id,
  MIN(at) AS first_at,
  MAX(at) AS last_at,
  COUNT(*) AS times,
  STRING_AGG(DISTINCT place, ',') AS places
FROM found
GROUP BY
  marker,
  session_id
ORDER BY
  in_sessions DESC NULLS LAST,
  marker NULLS FIRST,
  first_at NULLS FIRST
