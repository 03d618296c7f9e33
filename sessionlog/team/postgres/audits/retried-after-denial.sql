-- Made from sessionlog/ask/audits/retried-after-denial.sql by tools/generate.py. Do not edit. $1 is :since.

WITH denied AS MATERIALIZED (
  SELECT
    *
  FROM permission_decisions
  WHERE
    (
      at >= CAST($1 AS TEXT) OR (
        at IS NULL AND CAST($1 AS TEXT) = ''
      )
    )
    AND decision <> 'allowed'
), ran AS MATERIALIZED (
  SELECT
    id,
    session_id,
    finished_at AS at,
    agent_id,
    tool_name,
    command,
    file_path,
    tool_input,
    outcome
  FROM tool_calls
  WHERE
    outcome IN ('ok', 'failed')
    AND session_id IN (
      SELECT
        session_id
      FROM denied
    )
), asked AS MATERIALIZED (
  SELECT
    session_id,
    at
  FROM prompts
  WHERE
    session_id IN (
      SELECT
        session_id
      FROM denied
    )
), turn AS MATERIALIZED (
  SELECT
    denied.*,
    (
      SELECT
        MIN(asked.at)
      FROM asked
      WHERE
        asked.session_id = denied.session_id AND asked.at > denied.at
    ) AS ended_at
  FROM denied
), retried AS (
  SELECT
    turn.*,
    COALESCE(
      (
        SELECT
          ran.id
        FROM ran
        WHERE
          ran.session_id = turn.session_id
          AND ran.at >= turn.at
          AND ran.tool_name = turn.tool_name
          AND ran.agent_id IS NOT DISTINCT FROM turn.agent_id
          AND ran.command IS NOT DISTINCT FROM turn.command
          AND ran.file_path IS NOT DISTINCT FROM turn.file_path
        ORDER BY
          ran.at NULLS FIRST
        LIMIT 1
      ),
      (
        SELECT
          ran.id
        FROM ran
        WHERE
          ran.session_id = turn.session_id
          AND ran.at >= turn.at
          AND ran.tool_name = turn.tool_name
          AND ran.agent_id IS NOT DISTINCT FROM turn.agent_id
          AND ran.at < COALESCE(turn.ended_at, '~')
        ORDER BY
          ran.at NULLS FIRST
        LIMIT 1
      )
    ) AS retry_id
  FROM turn
)
SELECT
  retried.at,
  retried.session_id,
  retried.tool_name,
  COALESCE(retried.command, retried.file_path) AS denied,
  retried.decision,
  retried.reason,
  ran.at AS retried_at,
  COALESCE(ran.command, ran.file_path, ran.tool_input) AS ran,
  CASE
    WHEN ran.command IS NOT DISTINCT FROM retried.command
    AND ran.file_path IS NOT DISTINCT FROM retried.file_path
    THEN 'the same'
    ELSE 'another'
  END AS call,
  ran.outcome
FROM retried
JOIN ran
  ON ran.id = retried.retry_id
ORDER BY
  retried.at DESC NULLS LAST
