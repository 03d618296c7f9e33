-- title: Secrets, CI and settings that were touched
-- group: Risks
-- finding: yes
-- parameter since: only what happened at this time or later; empty means everything
--
-- Files with secrets (.env, private keys, credentials) that were read or changed, and changes to what runs by itself
-- or rules others: CI, container files, git hooks, shell start-up files, settings and hooks of Claude Code.

WITH
    rules AS MATERIALIZED (
        SELECT kind.key AS kind, pattern.value AS pattern
        FROM json_each('{
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
        }') AS kind, json_each(kind.value) AS pattern
    ),
    -- Few paths, named by many events: an index gives them without reading one event.
    paths AS MATERIALIZED (
        SELECT DISTINCT file_path FROM events WHERE :since = '' AND file_path IS NOT NULL
        UNION
        SELECT file_path
        FROM events
        WHERE :since <> '' AND event = 'PostToolUse' AND +file_path IS NOT NULL
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
    ),
    sensitive AS MATERIALIZED (SELECT file_path FROM paths WHERE EXISTS (SELECT 1 FROM rules WHERE file_path GLOB pattern)),
    touched AS (
        SELECT session_id, at, tool_name, action, agent_id, events.file_path
        FROM sensitive CROSS JOIN events ON events.file_path = sensitive.file_path
        WHERE event = 'PostToolUse' AND at >= :since
            AND events.id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
        UNION ALL
        SELECT session_id, at, tool_name, action, agent_id, file_path
        FROM transcript_parts AS part
        WHERE kind = 'tool_result' AND outcome = 'ok' AND file_path IS NOT NULL AND coalesce(at, '') >= :since
            AND part.id >= iif(:since = '', 0, (
                SELECT min(id) FROM transcript_parts
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
            AND NOT EXISTS (
                SELECT 1 FROM events
                WHERE events.tool_use_id = part.tool_use_id AND events.session_id = part.session_id
                    AND events.event IN ('PostToolUse', 'PostToolUseFailure')
            )
    )
SELECT
    max(at) AS at, session_id, group_concat(DISTINCT kind) AS kind, file_path,
    iif(max(action IN ('edit', 'write')), 'changed', 'read') AS how, count(*) AS times
FROM touched CROSS JOIN rules
WHERE file_path GLOB pattern
    AND (kind = 'secrets' OR action IN ('edit', 'write'))
    -- Samples hold no secrets.
    AND NOT (kind = 'secrets' AND (
        file_path GLOB '*.example' OR file_path GLOB '*.sample' OR file_path GLOB '*.template' OR file_path GLOB '*.pub'
    ))
GROUP BY session_id, file_path
ORDER BY at DESC
