-- Made from sessionlog/ask/audits/retried-after-denial.sql by tools/generate.py. Do not edit. $1 is :since.

WITH denied AS MATERIALIZED (
  SELECT
    decision.id,
    decision.session_id,
    decision.at,
    decision.agent_id,
    decision.tool_name,
    decision.command,
    decision.file_path,
    decision.decision,
    decision.reason,
    asked.prompt_id
  FROM permission_decisions AS decision
  JOIN events AS asked
    ON asked.id = decision.id
  WHERE
    decision.at >= CAST($1 AS TEXT) AND decision.decision <> 'allowed'
), retried AS (
  SELECT
    denied.*,
    (
      SELECT
        COALESCE(
          MIN(
            CASE
              WHEN later.command IS NOT DISTINCT FROM denied.command
              AND later.file_path IS NOT DISTINCT FROM denied.file_path
              THEN later.id
              ELSE NULL
            END
          ),
          MIN(later.id)
        )
      FROM events AS later
      WHERE
        later.session_id = denied.session_id
        AND later.at >= denied.at
        AND later.id > denied.id
        AND later.event IN ('PostToolUse', 'PostToolUseFailure')
        AND later.tool_name = denied.tool_name
        AND later.agent_id IS NOT DISTINCT FROM denied.agent_id
        AND (
          (
            later.command IS NOT DISTINCT FROM denied.command
            AND later.file_path IS NOT DISTINCT FROM denied.file_path
          )
          OR later.prompt_id = denied.prompt_id
        )
    ) AS retry_id
  FROM denied
)
SELECT
  retried.at,
  retried.session_id,
  retried.tool_name,
  COALESCE(retried.command, retried.file_path) AS denied,
  retried.decision,
  retried.reason,
  later.at AS retried_at,
  COALESCE(later.command, later.file_path, later.tool_input) AS ran,
  CASE
    WHEN later.command IS NOT DISTINCT FROM retried.command
    AND later.file_path IS NOT DISTINCT FROM retried.file_path
    THEN 'the same'
    ELSE 'another'
  END AS call,
  CASE WHEN later.event = 'PostToolUse' THEN 'ok' ELSE 'failed' END AS outcome
FROM retried
JOIN events AS later
  ON later.id = retried.retry_id
ORDER BY
  retried.at DESC NULLS LAST
