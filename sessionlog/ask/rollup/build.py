"""How the digest counts: what hooks saw from events, the rest from transcripts, each thing once.

In the SQL here, `main` is the digest, `archive` the archive it is made from. Rows are only added; queries
add them up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

from sessionlog.archive import one_client
from sessionlog.archive.read import LONE_END

Tell = Callable[[int, int], None]

# All offsets of time zones are multiples of a quarter of an hour: sums over these are right on everybody's clock.
QUARTER = 900

# The durations (ms) at which a call counts as slower: enough to estimate the median without storing every call.
STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000, 120_000, 300_000, 600_000, 3_600_000)

# What a list of sessions shows as the archive has it.
SESSION = (
    *("started_at", "last_at", "ended_at", "events", "prompts", "tool_calls", "edits", "failures", "compactions"),
    *("model", "title", "git_branch", "messages", "client"),
)
# Events and messages of new sessions that are counted in one transaction: what an interrupted first count repeats. Each
# transaction looks at all sessions, so that there must not be too many of them.
AT_ONCE = 50_000
TRANSACTIONS = 40
# How the longest text of a list is cut.
HEAD = 400

SORTS = {
    "started": "started_at",
    "active": "last_at",
    "took": "seconds",
    "prompts": "prompts",
    "tools": "tool_calls",
    "edits": "edits",
    "failures": "failures",
    "tokens": "tokens",
    "cost": "coalesce(cost_usd, -1)",
    "branch": "coalesce(git_branch, '')",
    "model": "coalesce(model, '')",
    "title": "coalesce(title, first_prompt, '') COLLATE NOCASE",
}

SCHEMA = """
CREATE TABLE progress (
    archive TEXT NOT NULL, stamp TEXT NOT NULL, event_id INTEGER NOT NULL, message_id INTEGER NOT NULL,
    prices TEXT NOT NULL
) STRICT;
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE,
    started_at TEXT NOT NULL, last_at TEXT NOT NULL, ended_at TEXT, events INTEGER NOT NULL,
    prompts INTEGER NOT NULL, tool_calls INTEGER NOT NULL, edits INTEGER NOT NULL, failures INTEGER NOT NULL,
    compactions INTEGER NOT NULL, model TEXT, title TEXT, git_branch TEXT, messages INTEGER NOT NULL,
    client TEXT NOT NULL, seconds INTEGER NOT NULL, first_prompt TEXT,
    tokens INTEGER NOT NULL DEFAULT 0, unpriced_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL
) STRICT;
CREATE TABLE spans (
    session INTEGER NOT NULL, quarter INTEGER NOT NULL,
    prompts INTEGER NOT NULL, tools INTEGER NOT NULL, failures INTEGER NOT NULL, edits INTEGER NOT NULL
) STRICT;
CREATE INDEX spans_session ON spans (session, quarter);
CREATE INDEX spans_quarter ON spans (quarter, session, prompts, tools, failures, edits);
CREATE TABLE tools (
    session INTEGER NOT NULL, quarter INTEGER NOT NULL, tool TEXT NOT NULL, step INTEGER,
    tools INTEGER NOT NULL, failures INTEGER NOT NULL, milliseconds INTEGER, slowest INTEGER
) STRICT;
CREATE INDEX tools_session ON tools (session);
CREATE INDEX tools_tool ON tools (tool, step, quarter, session, tools, failures, milliseconds, slowest);
CREATE INDEX tools_quarter ON tools (quarter);
CREATE TABLE paths (number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE changes (
    session INTEGER NOT NULL, quarter INTEGER NOT NULL, path INTEGER NOT NULL, edits INTEGER NOT NULL, last_at TEXT
) STRICT;
CREATE INDEX changes_session ON changes (session);
CREATE INDEX changes_path ON changes (path, session, quarter, edits);
CREATE INDEX changes_quarter ON changes (quarter);
CREATE TABLE usage (
    session INTEGER NOT NULL, quarter INTEGER NOT NULL, model TEXT NOT NULL, answers INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
    cache_write_5m_tokens INTEGER NOT NULL, cache_write_1h_tokens INTEGER NOT NULL,
    cost_usd REAL, unpriced_tokens INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_session ON usage (session);
CREATE INDEX usage_quarter ON usage (quarter);
"""
SCHEMA += "".join(f"CREATE INDEX sessions_{name} ON sessions ({value}, session_id);\n" for name, value in SORTS.items())


COUNTS = ("spans", "tools", "changes", "usage")

# 0 where the time is not known, or cannot be.
_QUARTER = f"max(coalesce(CAST(strftime('%s', {{at}}) AS INTEGER) / {QUARTER}, 0), 0)"
_STEP = f"CASE {' '.join(f'WHEN duration_ms < {limit} THEN {step}' for step, limit in enumerate(STEPS))} ELSE 99 END"
_EDITING = "('edit', 'write')"  # actions

# What each thing that happened counts for; from where it is grouped twice, as the archive's rows are long to read.
_EVENTS = f"""
INSERT INTO temp.happened
SELECT
    sessions.number, {_QUARTER.format(at="at")}, tool_name, duration_ms,
    is_typed,
    event IN ('PostToolUse', 'PostToolUseFailure'),
    outcome IS 'failed',
    ifnull(event = 'PostToolUse' AND action IN {_EDITING}, 0) AS edit,
    CASE WHEN event = 'PostToolUse' AND action IN {_EDITING} THEN coalesce(
        file_path,
        iif(tool_name = 'NotebookEdit' AND json_valid(tool_input), json_extract(tool_input, '$.notebook_path'), NULL)
    ) END,
    iif(event = 'PostToolUse' AND action IN {_EDITING}, at, NULL)
FROM archive.events AS event {{by}}
CROSS JOIN main.sessions AS sessions ON sessions.session_id = event.session_id
WHERE +event IN ('SessionStart', 'UserPromptSubmit', 'PostToolUse', 'PostToolUseFailure', 'StopFailure') AND {{which}}
"""
# A patch of other agents may change several files, of which its row names the first: here are the others.
_PATCHES = f"""
INSERT INTO temp.happened
SELECT DISTINCT
    sessions.number, {_QUARTER.format(at="at")}, NULL, NULL, 0, 0, 0, 0,
    json_extract(edit.value, '$.file_path'), at
FROM main.sessions AS sessions
CROSS JOIN archive.events AS event ON event.session_id = sessions.session_id
CROSS JOIN json_each(iif(json_valid(event.tool_input), event.tool_input, '{{{{}}}}'), '$.edits') AS edit
WHERE sessions.client <> 'claude-code' AND {{sessions}} AND +event = 'PostToolUse' AND event.tool_name = 'apply_patch'
    AND edit.type = 'object' AND json_extract(edit.value, '$.file_path') <> event.file_path AND {{which}}
"""
# What hooks saw of prompts and failures in these sessions, to tell what only the transcript has.
_SAID = (
    "CREATE TEMP TABLE said (session_id TEXT, kind TEXT, key TEXT, PRIMARY KEY (session_id, kind, key)) WITHOUT ROWID",
    """
    INSERT OR IGNORE INTO temp.said
    SELECT event.session_id, said.key, said.value
    FROM main.sessions AS sessions
    CROSS JOIN archive.events AS event ON event.session_id = sessions.session_id
    CROSS JOIN json_each(json_object(
        'id', prompt_id, 'prompt', prompt, 'prompt without id', iif(prompt_id IS NULL, prompt, NULL),
        'failure', iif(event = 'StopFailure', last_assistant_message, NULL)
    )) AS said
    WHERE {which} AND sessions.messages > 0 AND +event IN ('UserPromptSubmit', 'StopFailure') AND said.value IS NOT NULL
    """,
)
_MESSAGES = f"""
INSERT INTO temp.happened
SELECT
    sessions.number, {_QUARTER.format(at="message.at")}, message.tool_name, NULL,
    message.kind = 'prompt',
    message.kind = 'tool_result' AND NOT EXISTS (
        SELECT 1 FROM archive.events AS event
        WHERE event.tool_use_id = message.tool_use_id AND +event.session_id = message.session_id
            AND event.event = 'PostToolUse'
    ),
    message.outcome IS 'failed',
    message.kind = 'tool_result' AND message.outcome = 'ok' AND ifnull(message.action IN {_EDITING}, 0),
    iif(message.outcome = 'ok' AND message.action IN {_EDITING}, message.file_path, NULL),
    message.at
FROM main.sessions AS sessions
CROSS JOIN archive.transcript_parts AS message ON message.session_id = sessions.session_id
WHERE {{which}} AND sessions.messages > 0 AND CASE message.kind
    WHEN 'prompt' THEN NOT EXISTS (
        SELECT 1 FROM temp.said
        WHERE said.session_id = message.session_id AND (
            (kind IN ('id', 'prompt') AND key = coalesce(message.prompt_id, message.text, ''))
            OR (kind = 'prompt without id' AND key = message.text)
        )
    )
    WHEN 'tool_result' THEN message.outcome IN ('ok', 'failed') AND message.tool_use_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM archive.events AS event
        WHERE event.tool_use_id = message.tool_use_id AND +event.session_id = message.session_id
            -- Codex tells hooks no exit codes.
            AND event.event IN ('PostToolUseFailure', iif(message.outcome = 'ok', 'PostToolUse', ''))
    ) AND NOT EXISTS (
        SELECT 1 FROM archive.transcript_parts AS before
        WHERE before.tool_use_id = message.tool_use_id AND +before.session_id = message.session_id
            AND before.kind = 'tool_result' AND before.id < message.id
    )
    WHEN 'api_error' THEN message.outcome = 'failed' AND NOT EXISTS (
        SELECT 1 FROM temp.said
        WHERE said.session_id = message.session_id AND kind = 'failure' AND key = message.text
    )
END
"""
# The same for a patch that only a transcript knows. Its row has the beginning of it; the rest is read in Python.
_PATCHES_IN_TRANSCRIPTS = f"""
SELECT
    sessions.number, {_QUARTER.format(at="message.at")}, message.at, message.file_path,
    call.id, call.tool_name, call.text
FROM main.sessions AS sessions
CROSS JOIN archive.transcript_parts AS message ON message.session_id = sessions.session_id
CROSS JOIN archive.transcript_parts AS call ON call.tool_use_id = message.tool_use_id
    AND +call.session_id = message.session_id AND call.kind = 'tool_use'
WHERE sessions.client <> 'claude-code' AND sessions.messages > 0 AND {{which}}
    AND message.kind = 'tool_result' AND message.tool_name = 'apply_patch' AND message.outcome = 'ok'
    AND NOT EXISTS (
        SELECT 1 FROM archive.events AS event
        WHERE event.tool_use_id = message.tool_use_id AND +event.session_id = message.session_id
            AND event.event IN ('PostToolUse', 'PostToolUseFailure')
    )
"""
_USAGE = f"""
INSERT INTO {{into}}usage
SELECT
    sessions.number, {_QUARTER.format(at="at")}, usage.model, count(*), sum(input_tokens), sum(output_tokens),
    sum(cache_read_tokens), sum(cache_write_5m_tokens), sum(cache_write_1h_tokens), sum(usage.cost_usd),
    sum(iif(usage.cost_usd IS NULL, input_tokens + output_tokens, 0))
FROM main.sessions AS sessions
CROSS JOIN archive.model_answers AS usage ON usage.session_id = sessions.session_id
WHERE {{which}}
GROUP BY 1, 2, 3
"""

_HAPPENED = """
CREATE TEMP TABLE happened (
    session INTEGER, quarter INTEGER, tool TEXT, duration_ms INTEGER, prompt INTEGER, tools INTEGER, failure INTEGER,
    edit INTEGER, path, at TEXT
)
"""
_SPREAD = (
    f"""
    CREATE TEMP TABLE counted AS
    SELECT
        session, quarter, tool, iif(duration_ms IS NULL, NULL, {_STEP}) AS step, sum(prompt) AS prompts,
        sum(tools) AS tools, sum(failure) AS failures, sum(edit) AS edits, sum(duration_ms) AS milliseconds,
        max(duration_ms) AS slowest
    FROM temp.happened GROUP BY 1, 2, 3, 4
    """,
    "INSERT INTO {into}spans SELECT session, quarter, sum(prompts), sum(tools), sum(failures), sum(edits) "
    "FROM temp.counted GROUP BY 1, 2",
    "INSERT INTO {into}tools SELECT session, quarter, tool, step, tools, failures, milliseconds, slowest "
    "FROM temp.counted WHERE tool IS NOT NULL",
    "DROP TABLE temp.counted",
    "INSERT OR IGNORE INTO main.paths (path) SELECT DISTINCT path FROM temp.happened WHERE typeof(path) = 'text'",
    "INSERT INTO {into}changes SELECT session, quarter, paths.number, count(*), max(at) "
    "FROM temp.happened JOIN main.paths AS paths ON paths.path = happened.path GROUP BY 1, 2, 3",
    "DROP TABLE temp.happened",
)

# Every session in which something happened, as the archive has it now.
_NOW = f"""
CREATE TEMP TABLE now AS
SELECT
    sessions.session_id, started_at, sessions.last_at, ended_at, events,
    sessions.prompts + ifnull(facts.prompts, 0) AS prompts,
    sessions.tool_calls + ifnull(facts.tool_calls, 0) AS tool_calls,
    sessions.edits + ifnull(facts.edits, 0) AS edits,
    sessions.failures + ifnull(facts.failures, 0) AS failures,
    max(ifnull(facts.compactions, 0), ifnull(seen.compactions, 0)) AS compactions,
    model, substr(coalesce(facts.custom_title, facts.ai_title, facts.summary), 1, {HEAD}) AS title, facts.git_branch,
    coalesce(facts.messages, 0) AS messages, client
FROM archive.sessions AS sessions
LEFT JOIN archive.session_facts AS facts ON facts.session_id = sessions.session_id
LEFT JOIN (
    SELECT session_id, max(sum(event = 'PreCompact'), sum(event = 'PostCompact')) AS compactions
    FROM archive.events WHERE event IN ('PreCompact', 'PostCompact')
    GROUP BY +session_id -- not in the order of an index of sessions, for which all events would be read
) AS seen ON seen.session_id = sessions.session_id
WHERE NOT ({LONE_END.format(messages="coalesce(facts.messages, 0)")})
"""
# Of the sessions that are not counted yet, the newest come first. The others wait for the next transaction.
_LATER = """
DELETE FROM temp.now WHERE session_id IN (
    SELECT session_id FROM (
        SELECT now.session_id, sum(now.events + now.messages) OVER (ORDER BY now.last_at DESC, now.session_id)
            - now.events - now.messages AS before
        FROM temp.now AS now LEFT JOIN main.sessions AS old ON old.session_id = now.session_id
        WHERE old.number IS NULL
    ) WHERE before >= max(?, (SELECT sum(events + messages) FROM temp.now) * 1.0 / ?)
)
"""
_DIFFERENT = f"""
CREATE TEMP TABLE different AS
SELECT now.session_id FROM temp.now AS now LEFT JOIN main.sessions AS old ON old.session_id = now.session_id
WHERE old.number IS NULL
    OR ({", ".join(f"now.{name}" for name in SESSION)}) IS NOT ({", ".join(f"old.{name}" for name in SESSION)})
"""
# To be counted from their first event or message on: those with a transcript of which either has grown, as what both
# have is counted once, and those of which we have not counted what the archive says there is.
_AGAIN = """
CREATE TEMP TABLE again AS
SELECT now.session_id FROM temp.now AS now
LEFT JOIN main.sessions AS old ON old.session_id = now.session_id
LEFT JOIN temp.news AS news ON news.session_id = now.session_id
WHERE iif(
    now.messages > 0,
    old.number IS NULL OR old.messages <> now.messages OR old.events <> now.events
        OR now.session_id IN (SELECT session_id FROM temp.talked),
    old.messages > 0 OR coalesce(old.events, 0) + coalesce(news.events, 0) <> now.events
)
"""
# Whose tokens may be others than before. A fork loses answers to the session that made them, once that is known.
_SPENT = """
CREATE TEMP TABLE spent AS
WITH RECURSIVE spent (session_id) AS (
    SELECT session_id FROM temp.talked
    UNION SELECT session_id FROM temp.again
    UNION SELECT different.session_id FROM temp.different AS different
        LEFT JOIN main.sessions AS old ON old.session_id = different.session_id
        LEFT JOIN temp.now AS now ON now.session_id = different.session_id
        WHERE old.number IS NULL OR old.messages <> now.messages
    UNION SELECT facts.session_id FROM spent
        JOIN (SELECT session_id, forked_from FROM archive.session_facts WHERE forked_from IS NOT NULL) AS facts
        ON facts.forked_from = spent.session_id
)
SELECT session_id FROM spent
"""
_KEEP_SESSIONS = f"""
INSERT INTO main.sessions (session_id, {", ".join(SESSION)}, seconds)
SELECT
    session_id, {", ".join(SESSION)},
    coalesce(CAST(round((julianday(last_at) - julianday(started_at)) * 86400) AS INTEGER), 0)
FROM temp.now WHERE session_id IN (SELECT session_id FROM temp.different)
ON CONFLICT (session_id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in (*SESSION, "seconds"))}
"""
_FIRST_PROMPT = f"""
UPDATE main.sessions SET first_prompt = substr(coalesce(
    iif(messages > 0, (
        SELECT text FROM archive.transcript_parts AS message
        WHERE message.session_id = sessions.session_id AND kind = 'prompt' AND text IS NOT NULL
        ORDER BY id LIMIT 1
    ), NULL),
    iif(events > 0 AND prompts > 0, (
        SELECT prompt FROM archive.events AS event
        WHERE event.session_id = sessions.session_id AND is_typed
        ORDER BY id LIMIT 1
    ), NULL)
), 1, {HEAD})
WHERE session_id IN (SELECT session_id FROM temp.different)
"""
TOKENS = "input_tokens + output_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens"
_COSTS = f"""
UPDATE main.sessions SET (tokens, cost_usd, unpriced_tokens) = (
    SELECT coalesce(sum({TOKENS}), 0), round(sum(cost_usd), 6), coalesce(sum(unpriced_tokens), 0)
    FROM main.usage WHERE session = number
)
WHERE {{which}}
"""
_PRICES = "SELECT ifnull(prices, '') FROM archive.archive"

_IN = "{column} IN (SELECT session_id FROM temp.{table})"


def list_sessions(connection: sqlite3.Connection, prompts: int) -> None:
    """Fill an empty digest with the sessions alone: without tokens, without cost, and nothing by day, tool or file.

    Only so many of the newest get their first prompt: it is what takes long.
    """
    execute = connection.execute
    execute(_NOW)
    execute("CREATE TEMP TABLE different AS SELECT session_id FROM temp.now")
    execute(_KEEP_SESSIONS)
    newest = " UNION ".join(
        f"SELECT session_id FROM (SELECT session_id FROM temp.now ORDER BY {column} DESC LIMIT :prompts)"
        for column in ("started_at", "last_at")
    )
    execute(f"DELETE FROM temp.different WHERE session_id NOT IN ({newest})", {"prompts": prompts})
    execute(_FIRST_PROMPT)
    for table in ("now", "different"):
        execute(f"DROP TABLE temp.{table}")


def find_first_prompts(connection: sqlite3.Connection, session_ids: Iterable[str]) -> None:
    """Add the first prompts of these sessions to what `list_sessions` made."""
    connection.execute("CREATE TEMP TABLE different (session_id TEXT)")
    connection.executemany("INSERT INTO temp.different VALUES (?)", [(session_id,) for session_id in session_ids])
    connection.execute(_FIRST_PROMPT)
    connection.execute("DROP TABLE temp.different")


def catch_up(connection: sqlite3.Connection) -> bool:
    """Count what is new in the archive since the last time; false if sessions are left for another time.

    The caller holds a transaction.
    """
    event_id, message_id, prices = connection.execute("SELECT event_id, message_id, prices FROM progress").fetchone()
    newest_event, newest_message = (_newest(connection, table) for table in ("events", "transcript_parts"))
    if newest_event < event_id or newest_message < message_id:  # what we have counted is no longer there
        for table in ("sessions", "paths", *COUNTS):
            connection.execute(f"DELETE FROM main.{table}")
        event_id = message_id = 0
    execute = connection.execute
    # At first, nothing is new: sessions that are not known are counted from their first event on.
    new = {"event_id": event_id or newest_event, "message_id": message_id or newest_message}
    execute(_NOW)
    left = execute(_LATER, (AT_ONCE, TRANSACTIONS)).rowcount
    execute(
        "CREATE TEMP TABLE news AS SELECT session_id, count(*) AS events "
        "FROM archive.events NOT INDEXED WHERE id > :event_id GROUP BY session_id",
        new,
    )
    execute(
        "CREATE TEMP TABLE talked AS SELECT DISTINCT session_id FROM archive.transcript_parts WHERE id > :message_id",
        new,
    )
    execute(_DIFFERENT)
    execute(_AGAIN)
    execute(_SPENT)
    (prices_now,) = execute(_PRICES).fetchone()
    if prices != prices_now:  # every cost may be another
        execute("INSERT INTO temp.spent SELECT session_id FROM temp.now")
    _take_out(connection, "session_id NOT IN (SELECT session_id FROM temp.now)")
    _take_out(connection, _IN.format(column="session_id", table="again"), "spans", "tools", "changes")
    _take_out(connection, _IN.format(column="session_id", table="spent"), "usage")
    execute("DELETE FROM main.sessions WHERE session_id NOT IN (SELECT session_id FROM temp.now)")
    execute(_KEEP_SESSIONS)
    execute(_FIRST_PROMPT)
    again = _IN.format(column="{}.session_id", table="again")
    execute(_HAPPENED)
    of_news = _IN.format(column="sessions.session_id", table="news")
    _count_events(connection, "NOT INDEXED", of_news, f"event.id > :event_id AND NOT {again.format('event')}", new)
    _count_events(connection, "", again.format("sessions"), again.format("event"))
    _count_messages(connection, again.format("sessions"))
    _spread(connection, "main.")
    execute(_USAGE.format(into="main.", which=_IN.format(column="sessions.session_id", table="spent")))
    execute(_COSTS.format(which=_IN.format(column="session_id", table="spent")))
    execute("UPDATE progress SET event_id = ?, message_id = ?, prices = ?", (newest_event, newest_message, prices_now))
    for table in ("now", "news", "talked", "different", "again", "spent"):
        execute(f"DROP TABLE temp.{table}")
    return not left


def narrow(connection: sqlite3.Connection, since: str, client: str | None = None) -> None:
    """From here on, the tables of counts show only what happened since a moment, and only one agent's sessions."""
    rows = _rows_since(connection, since) if since else "SELECT * FROM main.{table}"
    if client:
        of_client = f"client = {one_client.literal(client)}"
        rows = f"SELECT * FROM ({rows}) WHERE session IN (SELECT number FROM main.sessions WHERE {of_client})"
        connection.execute(f"CREATE TEMP VIEW sessions AS SELECT * FROM main.sessions WHERE {of_client}")
    for table in COUNTS:  # a view of the same name is what is found first
        connection.execute(f"CREATE TEMP VIEW {table} AS {rows.format(table=table)}")


def _rows_since(connection: sqlite3.Connection, since: str) -> str:
    """The query for the rows of a table of counts since a moment.

    Most of that is whole quarters of an hour; the part of one in which the moment lies is counted from the archive.
    """
    quarter = connection.execute(f"SELECT {_QUARTER.format(at=':since')}", {"since": since}).fetchone()[0]
    (begins,) = connection.execute(
        f"SELECT strftime('%Y-%m-%dT%H:%M:%S.000Z', ? * {QUARTER}, 'unixepoch')", (quarter,)
    ).fetchone()
    part = ""
    if begins < since:
        _count_part(connection, quarter, since)
        quarter, part = quarter + 1, " UNION ALL SELECT * FROM temp.part_{table}"
    return f"SELECT * FROM main.{{table}} WHERE quarter >= {int(quarter)}{part}"


def _count_part(connection: sqlite3.Connection, quarter: int, since: str) -> None:
    asked = {"quarter": quarter, "since": since}
    for table in COUNTS:
        connection.execute(f"CREATE TEMP TABLE part_{table} AS SELECT * FROM main.{table} LIMIT 0")
    active = f"{_IN_QUARTER} AND {{at}} >= :since AND {_QUARTER} = :quarter"
    of_spans = (
        "event.session_id IN (SELECT session_id FROM main.spans AS span JOIN main.sessions AS own "
        "ON own.number = span.session WHERE quarter = :quarter AND own.events > 0) AND "
        f"event.at >= :since AND {_QUARTER.format(at='event.at')} = :quarter"
    )
    connection.execute(_HAPPENED)
    sessions = _IN_QUARTER.format(table="spans")
    _count_events(connection, "", sessions, of_spans, asked)
    _count_messages(connection, sessions, active.format(table="spans", at="message.at"), asked)
    _spread(connection, "temp.part_")
    connection.execute(_USAGE.format(into="temp.part_", which=active.format(table="usage", at="usage.at")), asked)


_IN_QUARTER = "sessions.number IN (SELECT session FROM main.{table} WHERE quarter = :quarter)"


def _count_events(connection: sqlite3.Connection, by: str, sessions: str, which: str, asked: Any = ()) -> None:
    """Add what hooks saw in these sessions."""
    connection.execute(_EVENTS.format(by=by, which=which), asked)
    connection.execute(_PATCHES.format(sessions=sessions, which=which), asked)


def _count_messages(connection: sqlite3.Connection, sessions: str, which: str = "", asked: Any = ()) -> None:
    """Add what only the transcripts of these sessions have."""
    for statement in _SAID:
        connection.execute(statement.format(which=sessions), asked if "{which}" in statement else ())
    connection.execute(_MESSAGES.format(which=which or sessions), asked)
    connection.execute("DROP TABLE temp.said")
    if patches := connection.execute(_PATCHES_IN_TRANSCRIPTS.format(which=which or sessions), asked).fetchall():
        _count_patches(connection, patches)


def _count_patches(connection: sqlite3.Connection, patches: list[Any]) -> None:
    """Add the files that the rows of these patches do not name."""
    from sessionlog.session import call as calls  # for few sessions, and much to import
    from sessionlog.transcripts.stored_lines import Lines

    factory, connection.row_factory = connection.row_factory, sqlite3.Row  # as `Lines` reads them
    lines = Lines(connection)
    connection.executemany(
        "INSERT INTO temp.happened VALUES (?, ?, NULL, NULL, 0, 0, 0, 0, ?, ?)",
        [
            (number, quarter, path, at)
            for number, quarter, at, first, *call in patches
            for path in calls.paths_of_part(lines, *call)
            if path != first
        ],
    )
    connection.row_factory = factory


def _spread(connection: sqlite3.Connection, into: str) -> None:
    """Put what happened where it is asked for."""
    for statement in _SPREAD:
        if into == "main." or "INTO main.paths" not in statement:  # all paths of a part are known already
            connection.execute(statement.format(into=into))


def _take_out(connection: sqlite3.Connection, which: str, *tables: str) -> None:
    """Forget what was counted of these sessions."""
    numbers = connection.execute(f"SELECT number FROM main.sessions WHERE {which}").fetchall()
    for table in tables or COUNTS:
        connection.executemany(f"DELETE FROM main.{table} WHERE session = ?", numbers)


def _newest(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT ifnull(max(id), 0) FROM archive.{table}").fetchone()[0])
