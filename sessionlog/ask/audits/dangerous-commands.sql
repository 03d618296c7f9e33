-- title: Commands that delete, force, escalate, destroy or publish
-- group: Risks
-- finding: yes
-- parameter since: only what happened at this time or later; empty means everything
--
-- Shell commands that delete folders, rewrite or discard history, skip checks, act as another user, open permissions,
-- run code straight from the network, destroy data or infrastructure, or publish. One that only mentions such words,
-- in a message or a here-document, is listed too.

WITH
    rules AS MATERIALIZED (
        SELECT kind.key AS kind, pattern.value AS pattern
        FROM json_each('{
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
        }') AS kind, json_each(kind.value) AS pattern
    ),
    -- A call's start, its end, and what its transcript says.
    commands AS (
        SELECT id, session_id, at, agent_id, tool_name, tool_use_id, event, command, outcome
        FROM events
        WHERE event IN ('PreToolUse', 'PostToolUse', 'PostToolUseFailure') AND action = 'run' AND at >= :since
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM events
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
        UNION ALL
        SELECT -id, session_id, at, agent_id, tool_name, tool_use_id, '', command, NULL
        FROM transcript_parts
        WHERE kind = 'tool_use' AND action = 'run' AND coalesce(at, '') >= :since
            AND id >= iif(:since = '', 0, (
                SELECT min(id) FROM transcript_parts
                WHERE session_id IN (SELECT session_id FROM sessions WHERE last_at >= :since) AND at >= :since
            ))
    ),
    -- A hundred patterns a command take long; most commands have none of these words.
    suspects AS (
        SELECT * FROM commands
        WHERE instr(command, 'rm ') OR instr(command, 'git ') OR instr(command, 'find ') OR instr(command, 'shred ')
            OR instr(command, 'dd ') OR instr(command, 'mkfs') OR instr(command, 'su ') OR instr(command, 'sudo')
            OR instr(command, 'doas ') OR instr(command, 'pkexec ') OR instr(command, 'chmod ')
            OR instr(command, 'chown ') OR instr(command, 'setcap ') OR instr(command, 'setenforce ')
            OR instr(command, 'docker ') OR instr(command, 'authorized_keys') OR instr(command, 'crontab ')
            OR instr(command, 'ctl ') OR instr(command, 'curl ') OR instr(command, 'wget ') OR instr(command, 'iex')
            OR instr(command, '--dangerously') OR instr(command, 'migrate') OR instr(command, 'helm ')
            OR instr(command, 'terraform ') OR instr(command, 'tofu ') OR instr(command, 'pulumi ')
            OR instr(command, 'aws ') OR instr(command, 'gcloud ') OR instr(command, 'az ') OR instr(command, 'gh ')
            OR instr(command, 'publish') OR instr(command, 'push') OR instr(command, 'upload')
            OR instr(command, 'deploy') OR instr(command, 'vercel ') OR command LIKE '%drop%'
            OR command LIKE '%truncate%' OR command LIKE '%flushall%' OR command LIKE '%remove-item%'
            OR command LIKE '%rmdir /s%'
    ),
    -- Words between single blanks, a pipe as a word: a pattern then means a command, not a part of a name.
    worded AS MATERIALIZED (
        SELECT *, lower(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
            replace(' ' || command || ' ', char(10), ' '), char(9), ' '), '"', ' '), '''', ' '), '(', ' '),
            ')', ' '), ';', ' '), '&', ' '), '|', ' | '), '/bin/', ' '), '  ', ' '), '  ', ' ')) AS words
        FROM suspects
    ),
    -- Each call once: by the first that is known of it.
    found AS (
        SELECT id, session_id, at, agent_id, tool_use_id, command, outcome, group_concat(DISTINCT kind) AS kind
        FROM worded CROSS JOIN rules
        WHERE words GLOB pattern AND (event = 'PreToolUse' OR NOT EXISTS (
            SELECT 1 FROM events AS first
            WHERE first.tool_use_id = worded.tool_use_id AND first.session_id = worded.session_id
                AND first.event IN (
                    'PreToolUse', iif(worded.id < 0, 'PostToolUse', ''), iif(worded.id < 0, 'PostToolUseFailure', '')
                )
        ))
        GROUP BY session_id, id
    )
SELECT
    at, session_id, kind, command,
    coalesce(
        outcome,
        (
            SELECT done.outcome FROM events AS done
            WHERE done.tool_use_id = found.tool_use_id AND done.session_id = found.session_id
                AND done.event IN ('PostToolUse', 'PostToolUseFailure')
        ),
        (
            SELECT part.outcome FROM transcript_parts AS part
            WHERE part.tool_use_id = found.tool_use_id AND part.session_id = found.session_id
                AND part.kind = 'tool_result'
        ),
        (
            SELECT denied.outcome FROM events AS denied
            WHERE denied.tool_use_id = found.tool_use_id AND denied.session_id = found.session_id
                AND denied.event = 'PermissionDenied'
        ),
        'no result'
    ) AS outcome,
    agent_id
FROM found
ORDER BY at DESC
