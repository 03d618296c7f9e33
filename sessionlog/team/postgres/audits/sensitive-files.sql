-- Made from sessionlog/ask/audits/sensitive-files.sql by tools/generate.py. Do not edit. $1 is :since.

WITH rules AS MATERIALIZED (
  SELECT
    kind.key AS kind,
    pattern.value AS pattern
  FROM json_each(
    '{
            "secrets": [
                "*/.env", "*/.env.*", "*/.envrc", "*/id_rsa*", "*/id_dsa*", "*/id_ecdsa*", "*/id_ed25519*", "*.pem",
                "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*/.ssh/*", "*/.gnupg/*", "*/.aws/*",
                "*/.kube/config", "*/.docker/config.json", "*/.npmrc", "*/.pypirc", "*/.netrc",
                "*/.git-credentials", "*/credentials", "*/credentials.json", "*/service-account*.json",
                "*/secrets.*", "*/.vault-token", "*.tfvars", "*.tfstate", "*/.htpasswd"
            ],
            "CI": [
                "*/.github/workflows/*", "*/.github/actions/*", "*/.gitlab-ci.yml", "*/.gitlab/ci/*", "*/.circleci/*",
                "*/Jenkinsfile*", "*/azure-pipelines.y*ml", "*/bitbucket-pipelines.yml", "*/.travis.yml",
                "*/.drone.yml", "*/.buildkite/*", "*/.woodpecker*", "*/.ci/*", "*/CODEOWNERS"
            ],
            "containers": [
                "*/Dockerfile*", "*.dockerfile", "*/docker-compose*.y*ml", "*/compose.y*ml", "*/.devcontainer/*"
            ],
            "hooks": ["*/.git/hooks/*", "*/.husky/*", "*/.pre-commit-config.yaml", "*/.git/config", "*/lefthook.y*ml"],
            "Claude Code": [
                "*/.claude/settings*.json", "*/.claude/hooks/*", "*/.claude.json", "*/.mcp.json",
                "*/hooks/hooks.json", "*/managed-settings.json"
            ],
            "system": [
                "*/.bashrc", "*/.bash_profile", "*/.profile", "*/.zshrc", "*/.zshenv", "*/.gitconfig", "/etc/*",
                "*/LaunchAgents/*", "*/systemd/*"
            ]
        }'
  ) AS kind
  CROSS JOIN json_each(kind.value) AS pattern
), paths AS MATERIALIZED (
  SELECT DISTINCT
    file_path
  FROM events
  WHERE
    CAST($1 AS TEXT) = '' AND NOT file_path IS NULL
  UNION
  SELECT
    file_path
  FROM events
  WHERE
    CAST($1 AS TEXT) <> '' AND event = 'PostToolUse' AND NOT file_path IS NULL AND TRUE
), sensitive AS MATERIALIZED (
  SELECT
    file_path
  FROM paths
  WHERE
    EXISTS(
      SELECT
        1
      FROM rules
      WHERE
        glob(pattern, file_path)
    )
), touched AS (
  SELECT
    session_id,
    at,
    tool_name,
    action,
    agent_id,
    events.file_path
  FROM sensitive
  JOIN events
    ON events.file_path = sensitive.file_path
  WHERE
    event = 'PostToolUse' AND at >= CAST($1 AS TEXT) AND TRUE
  UNION ALL
  SELECT
    session_id,
    at,
    tool_name,
    action,
    agent_id,
    file_path
  FROM transcript_parts AS part
  WHERE
    kind = 'tool_result'
    AND outcome = 'ok'
    AND NOT file_path IS NULL
    AND (
      at >= CAST($1 AS TEXT) OR (
        at IS NULL AND CAST($1 AS TEXT) = ''
      )
    )
    AND TRUE
    AND NOT EXISTS(
      SELECT
        1
      FROM events
      WHERE
        events.tool_use_id = part.tool_use_id
        AND events.session_id = part.session_id
        AND events.event IN ('PostToolUse', 'PostToolUseFailure')
    )
)
SELECT
  MAX(at) AS at,
  session_id,
  STRING_AGG(DISTINCT kind, ',') AS kind,
  file_path,
  CASE WHEN MAX(action IN ('edit', 'write')) THEN 'changed' ELSE 'read' END AS how,
  COUNT(*) AS times
FROM touched
CROSS JOIN rules
WHERE
  glob(pattern, file_path)
  AND (
    kind = 'secrets' OR action IN ('edit', 'write')
  )
  AND NOT (
    kind = 'secrets'
    AND (
      glob('*.example', file_path)
      OR glob('*.sample', file_path)
      OR glob('*.template', file_path)
      OR glob('*.pub', file_path)
    )
  )
GROUP BY
  session_id,
  file_path
ORDER BY
  at DESC NULLS LAST
