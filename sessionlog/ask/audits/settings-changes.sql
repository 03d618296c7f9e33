-- title: Changes of settings and working folders during sessions
-- group: Risks
-- finding: no
-- parameter since: only what happened at this time or later; empty means everything
--
-- Settings files that changed while a session ran, folders that were added to it, and switches of the model.

SELECT
    at, session_id, event,
    iif(json_valid(extra), json_extract(extra, '$.source'), NULL) AS source,
    coalesce(
        file_path,
        iif(json_valid(extra), coalesce(json_extract(extra, '$.directory'), json_extract(extra, '$.to_model')), NULL)
    ) AS target
FROM events
WHERE event IN ('ConfigChange', 'DirectoryAdded', 'PostModelSwitch') AND at >= :since
ORDER BY at DESC
