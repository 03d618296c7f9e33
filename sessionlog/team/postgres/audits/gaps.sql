-- Made from sessionlog/ask/audits/gaps.sql by tools/generate.py. Do not edit. $1 is :since.

SELECT
  session_id,
  gap,
  at,
  tool_name,
  tool_use_id,
  detail
FROM (
  SELECT
    session_id,
    'only in the transcript' AS gap,
    started_at AS at,
    tool_name,
    tool_use_id,
    piece(COALESCE(command, file_path, tool_input), 1, 80) AS detail
  FROM tool_calls
  WHERE
    id < 0 AND NOT tool_use_id IS NULL
  UNION ALL
  SELECT
    events.session_id,
    'only in the hooks',
    MIN(events.at),
    (
      ARRAY_AGG(events.tool_name ORDER BY events.at ASC)
    )[1] AS tool_name,
    events.tool_use_id,
    piece(
      COALESCE(
        (
          ARRAY_AGG(command ORDER BY events.at ASC)
        )[1],
        (
          ARRAY_AGG(file_path ORDER BY events.at ASC)
        )[1],
        (
          ARRAY_AGG(description ORDER BY events.at ASC)
        )[1],
        (
          ARRAY_AGG(tool_input ORDER BY events.at ASC)
        )[1]
      ),
      1,
      80
    )
  FROM sessions
  JOIN events
    ON events.session_id = sessions.session_id AND events.at >= CAST($1 AS TEXT)
  WHERE
    sessions.last_at >= CAST($1 AS TEXT)
    AND EXISTS(
      SELECT
        1
      FROM transcript_parts
      WHERE
        transcript_parts.session_id = sessions.session_id
    )
    AND NOT events.tool_use_id IS NULL
    AND NOT EXISTS(
      SELECT
        1
      FROM transcript_parts
      WHERE
        transcript_parts.tool_use_id = events.tool_use_id
        AND transcript_parts.session_id = events.session_id
    )
  GROUP BY
    events.session_id,
    events.tool_use_id
  UNION ALL
  SELECT
    session_id,
    'no transcript',
    last_at,
    NULL,
    NULL,
    transcript_path
  FROM sessions
  WHERE
    events > 0
    AND NOT EXISTS(
      SELECT
        1
      FROM transcript_parts
      WHERE
        transcript_parts.session_id = sessions.session_id
    )
  UNION ALL
  SELECT
    session_id,
    'no end',
    last_at,
    NULL,
    NULL,
    'the last sign of it is of ' || last_at
  FROM sessions
  WHERE
    events > 0 AND ended_at IS NULL
  UNION ALL
  SELECT
    session_id,
    'changed after it was archived',
    first_import_at,
    NULL,
    NULL,
    name || ' is archived in version ' || generation
  FROM transcripts
  WHERE
    generation > 1
) AS unnamed
WHERE
  (
    at >= CAST($1 AS TEXT) OR (
      at IS NULL AND CAST($1 AS TEXT) = ''
    )
  )
ORDER BY
  session_id NULLS FIRST,
  at NULLS FIRST
