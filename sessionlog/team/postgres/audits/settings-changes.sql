-- Made from sessionlog/ask/audits/settings-changes.sql by tools/generate.py. Do not edit. $1 is :since.

SELECT
  at,
  session_id,
  event,
  CASE WHEN json_valid(extra) THEN json_extract(extra, '$.source') ELSE NULL END AS source,
  COALESCE(
    file_path,
    CASE
      WHEN json_valid(extra)
      THEN COALESCE(json_extract(extra, '$.directory'), json_extract(extra, '$.to_model'))
      ELSE NULL
    END
  ) AS target
FROM events
WHERE
  event IN ('ConfigChange', 'DirectoryAdded', 'PostModelSwitch')
  AND at >= CAST($1 AS TEXT)
ORDER BY
  at DESC NULLS LAST
