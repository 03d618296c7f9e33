-- Made from sessionlog/ask/audits/dangerous-commands.sql by tools/generate.py. Do not edit. $1 is :since.

WITH rules AS MATERIALIZED (
  SELECT
    kind.key AS kind,
    pattern.value AS pattern
  FROM json_each(
    '{
            "deletes": [
                "* rm -r*", "* rm -[a-z]r*", "* rm -[a-z][a-z]r*", "* rm -[a-z] -r*", "* rm --recursive*",
                "* find * -delete *", "* shred *", "* dd *of=/dev/*", "* mkfs*", "* rmdir /s*",
                "* remove-item *-recurse*", "* git clean -f*", "* git clean -[a-z]f*", "* git clean -[a-z][a-z]f*",
                "* git clean *--force*"
            ],
            "forces": [
                "* git push *--force*", "* git push -f *", "* git push * -f *", "* git push * +[a-z]*",
                "* git push *--delete*", "* git push *--mirror*", "* git reset *--hard*", "* git checkout -f*",
                "* git checkout -- *", "* git filter-branch*", "* git filter-repo*", "* git stash drop*",
                "* git stash clear*", "* git reflog expire*", "* git update-ref -d*"
            ],
            "skips checks": [
                "* git *--no-verify*", "* git commit -n *", "* git *--no-gpg-sign*",
                "*--dangerously-skip-permissions*"
            ],
            "escalates": [
                "* sudo *", "* doas *", "* pkexec *", "* su - *", "* su -c *", "* chmod *777*", "* chmod *+s *",
                "* chmod a+w*", "* chown *root*", "* setcap *", "* docker *--privileged*", "* setenforce 0*",
                "*/authorized_keys*", "*/etc/sudoers*", "* crontab -*", "* systemctl enable *", "* launchctl load *"
            ],
            "runs code from the network": [
                "* curl * | sh *", "* curl * | bash *", "* curl * | zsh *", "* curl * | sudo *",
                "* curl * | python*", "* curl * | node *", "* wget * | sh *", "* wget * | bash *",
                "* wget * | sudo *", "* wget * | python*", "* sh < curl *", "* bash < curl *",
                "* sh -c $ curl *", "* bash -c $ curl *", "* eval $ curl *", "* source < curl *",
                "* iwr * | iex *", "* irm * | iex *"
            ],
            "destroys": [
                "* drop table *", "* drop database *", "* drop schema *", "* truncate table *", "* dropdb *",
                "* flushall *", "*.dropdatabase *", "* db:drop*", "* migrate:fresh*", "* migrate reset*",
                "* kubectl delete *", "* kubectl * delete *", "* kubectl drain *", "* helm uninstall *",
                "* terraform destroy*", "* terraform apply *-auto-approve*", "* tofu destroy*", "* pulumi destroy*",
                "* aws * delete-*", "* aws s3 rb *", "* aws s3 rm *--recursive*", "* aws * terminate-instances*",
                "* gcloud * delete *", "* az * delete *", "* gh repo delete *", "* docker system prune*",
                "* docker volume rm *", "* docker volume prune*", "* docker compose down *-v *"
            ],
            "publishes": [
                "* npm publish*", "* pnpm publish*", "* yarn publish*", "* yarn npm publish*", "* bun publish*",
                "* twine upload*", "* uv publish*", "* poetry publish*", "* flit publish*", "* hatch publish*",
                "* cargo publish*", "* gem push*", "* docker push*", "* nuget push*", "* mvn deploy*",
                "* vsce publish*", "* gh release create*", "* gh pr merge*", "* firebase deploy*",
                "* wrangler deploy*", "* fly deploy*", "* vercel *--prod*", "* netlify deploy *--prod*"
            ]
        }'
  ) AS kind
  CROSS JOIN json_each(kind.value) AS pattern
), commands AS (
  SELECT
    id,
    session_id,
    at,
    agent_id,
    tool_name,
    tool_use_id,
    event,
    command,
    outcome
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
    '',
    command,
    NULL
  FROM transcript_parts
  WHERE
    kind = 'tool_use'
    AND action = 'run'
    AND (
      at >= CAST($1 AS TEXT) OR (
        at IS NULL AND CAST($1 AS TEXT) = ''
      )
    )
    AND TRUE
), suspects AS (
  SELECT
    *
  FROM commands
  WHERE
    (
      instr(command, 'rm ') <> 0
    )
    OR (
      instr(command, 'git ') <> 0
    )
    OR (
      instr(command, 'find ') <> 0
    )
    OR (
      instr(command, 'shred ') <> 0
    )
    OR (
      instr(command, 'dd ') <> 0
    )
    OR (
      instr(command, 'mkfs') <> 0
    )
    OR (
      instr(command, 'su ') <> 0
    )
    OR (
      instr(command, 'sudo') <> 0
    )
    OR (
      instr(command, 'doas ') <> 0
    )
    OR (
      instr(command, 'pkexec ') <> 0
    )
    OR (
      instr(command, 'chmod ') <> 0
    )
    OR (
      instr(command, 'chown ') <> 0
    )
    OR (
      instr(command, 'setcap ') <> 0
    )
    OR (
      instr(command, 'setenforce ') <> 0
    )
    OR (
      instr(command, 'docker ') <> 0
    )
    OR (
      instr(command, 'authorized_keys') <> 0
    )
    OR (
      instr(command, 'crontab ') <> 0
    )
    OR (
      instr(command, 'ctl ') <> 0
    )
    OR (
      instr(command, 'curl ') <> 0
    )
    OR (
      instr(command, 'wget ') <> 0
    )
    OR (
      instr(command, 'iex') <> 0
    )
    OR (
      instr(command, '--dangerously') <> 0
    )
    OR (
      instr(command, 'migrate') <> 0
    )
    OR (
      instr(command, 'helm ') <> 0
    )
    OR (
      instr(command, 'terraform ') <> 0
    )
    OR (
      instr(command, 'tofu ') <> 0
    )
    OR (
      instr(command, 'pulumi ') <> 0
    )
    OR (
      instr(command, 'aws ') <> 0
    )
    OR (
      instr(command, 'gcloud ') <> 0
    )
    OR (
      instr(command, 'az ') <> 0
    )
    OR (
      instr(command, 'gh ') <> 0
    )
    OR (
      instr(command, 'publish') <> 0
    )
    OR (
      instr(command, 'push') <> 0
    )
    OR (
      instr(command, 'upload') <> 0
    )
    OR (
      instr(command, 'deploy') <> 0
    )
    OR (
      instr(command, 'vercel ') <> 0
    )
    OR command ILIKE '%drop%'
    OR command ILIKE '%truncate%'
    OR command ILIKE '%flushall%'
    OR command ILIKE '%remove-item%'
    OR command ILIKE '%rmdir /s%'
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
), found AS (
  SELECT
    id,
    session_id,
    MIN(at) AS at,
    MIN(agent_id) AS agent_id,
    MIN(tool_use_id) AS tool_use_id,
    MIN(command) AS command,
    MIN(outcome) AS outcome,
    STRING_AGG(DISTINCT kind, ',') AS kind
  FROM worded
  CROSS JOIN rules
  WHERE
    glob(pattern, words)
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
  GROUP BY
    session_id,
    id
)
SELECT
  at,
  session_id,
  kind,
  command,
  COALESCE(
    outcome,
    (
      SELECT
        done.outcome
      FROM events AS done
      WHERE
        done.tool_use_id = found.tool_use_id
        AND done.session_id = found.session_id
        AND done.event IN ('PostToolUse', 'PostToolUseFailure')
    ),
    (
      SELECT
        part.outcome
      FROM transcript_parts AS part
      WHERE
        part.tool_use_id = found.tool_use_id
        AND part.session_id = found.session_id
        AND part.kind = 'tool_result'
    ),
    (
      SELECT
        denied.outcome
      FROM events AS denied
      WHERE
        denied.tool_use_id = found.tool_use_id
        AND denied.session_id = found.session_id
        AND denied.event = 'PermissionDenied'
    ),
    'no result'
  ) AS outcome,
  agent_id
FROM found
ORDER BY
  at DESC NULLS LAST
