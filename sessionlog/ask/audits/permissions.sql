-- title: What was asked for, and what became of it
-- group: Permissions
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Every permission question, what it was about, and whether it was allowed.

SELECT
    at, session_id, decision, tool_name, coalesce(command, file_path) AS target, permission_mode, reason, agent_id
FROM permission_decisions
WHERE at >= :since
ORDER BY at DESC
