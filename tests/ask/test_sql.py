"""SQL from the command line: it reads, over one project or all, and can do nothing else; the schema explains itself."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import wcwidth
from click.testing import CliRunner

from sessionlog.archive import describe, migrate
from sessionlog.archive import place as projects
from sessionlog.ask import all_projects, sql
from sessionlog.cli import table
from sessionlog.cli.main import cli
from sessionlog.errors import SessionlogError
from tests.cli.test_cli import failing, printed
from tests.conftest import rows
from tests.helpers.archives import bash, call, event, store


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file below a folder and what is in it; but a reader's locks, and an empty WAL, may come and go."""
    found = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".db-shm"}
    return {path: hashlib.sha256(data).hexdigest() for path, data in found.items() if data}


WRITING = [
    "INSERT INTO sessions (session_id, started_at, last_at) VALUES ('x', '', '')",
    "UPDATE events SET command = 'x'",
    "DELETE FROM events",
    "REPLACE INTO spool_progress VALUES ('x', 1)",
    "WITH all_of_them AS (SELECT id FROM events) DELETE FROM events WHERE id IN all_of_them",
    "DELETE FROM events RETURNING *",
    "DROP TABLE events",
    "ALTER TABLE events RENAME TO gone",
    "CREATE TABLE x (y)",
    "CREATE TEMP TABLE x (y)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "CREATE TRIGGER x AFTER INSERT ON events BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE x USING fts5(y)",
    "CREATE INDEX x ON events (command)",
    "ATTACH '{folder}/new.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO '{folder}/copy.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN IMMEDIATE",
    "SAVEPOINT x",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA user_version = 9",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA optimize",
    "EXPLAIN DELETE FROM events",
    "UPDATE sqlite_master SET sql = ''",
    "SELECT load_extension('x')",
    "SELECT writefile('{folder}/file', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT 1; DELETE FROM events",
    "SELECT * FROM pragma_journal_mode('DELETE')",
]


@pytest.mark.parametrize("everywhere", [False, True])
def test_nothing_can_be_written(place: projects.Place, tmp_path: Path, everywhere: bool) -> None:
    store(place, bash("ls"))
    folder = tmp_path / "home" / ".local"
    kept = rows(place)
    before = fingerprint(folder)
    for query in WRITING:
        try:
            with sql.ask([place], query.format(folder=folder), all_together=everywhere) as answer:
                list(answer.rows)
        except SessionlogError as error:
            assert str(error), query
        else:
            pytest.fail(f"not refused: {query}")
        assert fingerprint(folder) == before, query
        assert rows(place) == kept, query


def test_an_archive_that_cannot_be_written_is_read_all_the_same(place: projects.Place) -> None:
    store(place, bash("ls"))
    with closing(sqlite3.connect(place.db)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    Path(place.db).chmod(0o400)
    assert printed("sql", "SELECT command FROM events") == "command\nls\n"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT value FROM json_each('[1, 2]')",
        "SELECT key FROM json_tree('{}')",
        "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT x FROM n",
        "EXPLAIN QUERY PLAN SELECT * FROM events",
        "VALUES (1), (2)",
        "\n-- a comment first\nSELECT row_number() OVER (ORDER BY at) FROM events;",
        "SELECT name FROM pragma_table_info('events')",
        "SELECT name FROM sqlite_master",
    ],
)
def test_all_that_reads_is_allowed(place: projects.Place, query: str) -> None:
    store(place, bash("ls"))
    for options in ([], ["--all"]):
        json.loads(printed("sql", *options, query, "--json"))


def test_forms(place: projects.Place) -> None:
    store(place, bash('a\tb\nc\\d \x1b[31m\x9b\u202e, "quoted"'), event("UserPromptSubmit", prompt="请"))
    query = "SELECT id, command, prompt, x'00ff' AS raw, 9e999 AS big, id FROM events ORDER BY id"
    lines = printed("sql", query).splitlines()
    assert lines[0] == "id\tcommand\tprompt\traw\tbig\tid_2"
    assert lines[1] == '1\ta\\tb\\nc\\\\d \\x1b[31m\\x9b\\u202e, "quoted"\t\tAP8=\tinf\t1'
    found = json.loads(text := printed("sql", query, "--json"))
    assert found[0] == {
        "id": 1, "command": 'a\tb\nc\\d \x1b[31m\x9b\u202e, "quoted"', "prompt": None,
        "raw": {"$base64": True, "encoded": "AP8="}, "big": None, "id_2": 1,
    }  # fmt: skip
    assert not set(text) & {"\x1b", "\x9b", "\u202e"} and "请" in text
    parsed = list(csv.reader(io.StringIO(printed("sql", query, "--csv"))))
    assert parsed[0] == ["id", "command", "prompt", "raw", "big", "id_2"]
    assert parsed[1][1] == found[0]["command"] and parsed[2][2] == "请"
    shown = printed("sql", query, "--table").splitlines()
    assert len(shown) == 4 and "\\x1b[31m" in shown[2] and "<2 bytes>" in shown[2]
    assert json.loads(printed("sql", "SELECT 1 AS x WHERE 0", "--json")) == []
    assert printed("sql", "SELECT 1 AS x WHERE 0", "--csv") == "x\n"


def test_the_query_may_come_from_stdin_and_have_parameters(place: projects.Place) -> None:
    store(place, bash("ls"), bash("pwd"))
    query = "SELECT command FROM events WHERE command = :wanted"
    done = CliRunner().invoke(cli, ["sql", "-", "-p", "wanted", "pwd"], input=query, catch_exceptions=False)
    assert done.stdout == "command\npwd\n"
    assert printed("sql", "--all", query, "-p", "wanted", "ls") == "command\nls\n"


@pytest.mark.parametrize("option", [[], ["--all"]])
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * FROM promts", "no such table: promts; did you mean prompts"),
        ("SELECT e.comand FROM events e", "no such column: e.comand; did you mean command"),
        ("SELECT * FROM zzzzzz", "no such table: zzzzzz\n`sessionlog schema` lists"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("DELETE FROM events", "this only reads"),
        ("SELECT :a", "-p NAME VALUE"),
    ],
)
def test_mistakes_are_explained(
    place: projects.Place, monkeypatch: pytest.MonkeyPatch, capsys: Any, query: str, told: str, option: list[str]
) -> None:
    store(place, bash("ls"))
    message = failing(monkeypatch, capsys, "sql", *option, query)
    assert told in message and "Traceback" not in message


@pytest.fixture
def twelve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[projects.Place]:
    """Twelve projects, more than SQLite attaches at once; the n-th has n commands."""
    monkeypatch.setenv("SESSIONLOG_HOME", str(tmp_path / "archives"))
    places = [projects.place(f"/srv/it's {number:02}") for number in range(1, 13)]
    for number, place in enumerate(places, 1):
        commands = [bash(f"echo {count}", f"s{number}") for count in range(number)]
        store(
            place,
            event("UserPromptSubmit", f"s{number}", prompt="go"),
            *commands,
            call("Read", "shared", file_path="/x"),
        )
    return places


def test_all_projects_are_one_database(twelve: list[projects.Place]) -> None:
    query = "SELECT project, count(*) AS n FROM bash_commands GROUP BY project ORDER BY project"
    found = json.loads(printed("sql", "--all", query, "--json"))
    assert found == [{"project": f"/srv/it's {number:02}", "n": number} for number in range(1, 13)]
    # An aggregate is over all of them, a filter over each, a join needs the project.
    assert printed("sql", "--all", "SELECT count(*), count(DISTINCT project) FROM prompts").endswith("\n12\t12\n")
    assert printed("sql", "--all", "SELECT count(*) FROM events WHERE tool_name = 'Bash' AND id = 2").endswith("\n12\n")
    join = "SELECT count(*) FROM sessions JOIN events USING (project, session_id) WHERE session_id = 'shared'"
    assert printed("sql", "--all", join).endswith("\n12\n")
    assert printed("sql", "--all", "SELECT count(*) FROM archive WHERE project LIKE '/srv/%'").endswith("\n12\n")
    top = json.loads(printed("sql", "--all", "SELECT * FROM events ORDER BY at DESC, project DESC LIMIT 1", "--json"))
    assert top[0]["project"] == "/srv/it's 12" and len(top[0]) == len(describe.tables()["events"].columns) + 1
    numbers = "SELECT DISTINCT typeof(id), typeof(id + 0), id > 0 AND id < 100 FROM events"
    assert printed("sql", "--all", numbers).splitlines()[1:] == ["integer\tinteger\t1"]


def test_only_what_a_query_reads_is_copied(twelve: list[projects.Place]) -> None:
    with closing(all_projects.connect(twelve, "SELECT command FROM events")) as connection:
        copied = connection.execute("SELECT name, sql FROM main.sqlite_master").fetchall()
        assert [name for name, _ in copied] == ["events"] and "prompt" not in copied[0][1]
        attached = connection.execute("PRAGMA database_list").fetchall()
        assert sum(name.startswith("archive_") for _, name, _ in attached) == all_projects.ATTACHED


def test_all_of_no_project_is_empty(project: Path) -> None:
    assert json.loads(printed("sql", "--all", "SELECT count(*) AS n FROM events", "--json")) == [{"n": 0}]


ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def start_endless_query(**options: Any) -> subprocess.Popen[bytes]:
    """`sessionlog sql`, in the midst of a query that never ends."""
    command = [sys.executable, "-m", "sessionlog", "sql", ENDLESS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    times = Path(f"/proc/{process.pid}/stat")
    deadline = time.monotonic() + 60
    if not times.exists():
        time.sleep(2)
        return process
    # To start takes it a tenth of a second of the processor's time; what is more than that is the query.
    while int(times.read_text().rpartition(")")[2].split()[11]) < 0.5 * os.sysconf("SC_CLK_TCK"):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_ctrl_c_stops_a_long_query(place: projects.Place) -> None:
    store(place, bash("ls"))
    process = start_endless_query()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in errors


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals are another thing on this system")
def test_a_long_query_in_the_background_of_a_script_ignores_ctrl_c_and_can_be_ended(place: projects.Place) -> None:
    """A shell starts it so that SIGINT, which is meant for whatever is in the foreground, does nothing."""
    store(place, bash("ls"))
    process = start_endless_query(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM and errors == b""


def test_a_reader_that_leaves_early_is_no_error(place: projects.Place) -> None:
    store(place, bash("ls"))
    endless = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) SELECT x FROM n"
    for form in ("--csv", "--json", "--table"):
        command = f'{sys.executable} -m sessionlog sql {form} "{endless}" | head -n 2'
        done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
        assert done.stderr == b"" and done.stdout.count(b"\n") == 2


# --- the schema -----------------------------------------------------------------------------------------------------


def test_every_table_view_and_column_is_described_and_nothing_else() -> None:
    tables, columns, _ = describe._comments(migrate.read_script("schema.sql"))
    assert set(tables) == set(describe.tables())
    assert set(columns) <= {(name, column.name) for name, one in describe.tables().items() for column in one.columns}
    for one in describe.tables().values():
        for text in (one.description, *(column.description for column in one.columns)):
            assert text[:1] == text[:1].upper() or text.split()[0].strip(",") in ("ok", "allowed"), (one.name, text)
            assert text.endswith(".") and len(text) < 200, (one.name, text)


def test_the_schema_is_printed() -> None:
    text = printed("schema")
    assert text.index("archive  table") < text.index("events  table") < text.index("bash_commands  view")
    assert "The shell command." in printed("schema", "bash_commands")
    listed = json.loads(printed("schema", "--json"))
    assert {one["name"] for one in listed} == set(describe.tables())
    archive = next(one for one in listed if one["name"] == "archive")
    assert archive["columns"][0] == {"name": "only_row", "type": "INTEGER", "description": "Always 1."}


def test_an_unknown_table_is_explained(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert "did you mean events?" in failing(monkeypatch, capsys, "schema", "event")
    assert "There are: archive," in failing(monkeypatch, capsys, "schema", "xyzzy")


# --- tables in a terminal -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns", "cut"),
    [
        ("plain", 5, "pla…"),
        ("中文字符", 8, "中文字…"),
        ("한글x", 5, "한…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301…"),
        ("👨‍👩‍👧👍🏽", 4, "👨‍👩‍👧…"),
        ("a\u200bb", 2, "…"),
    ],
)
def test_letters_take_the_columns_that_terminals_give_them(text: str, columns: int, cut: str) -> None:
    assert table.display_width(text) == columns
    assert table.cut(text, columns) == text
    assert table.cut(text, columns - 1) == cut
    for width in range(columns + 3):
        assert table.display_width(table.pad(text, width)) == max(width, 1)


def test_the_letters_that_are_measured_without_wcwidth_are_as_wide_as_it_says() -> None:
    simple = [letter for letter in map(chr, (*range(0xD800), *range(0xE000, 0x10000))) if table._columns(letter)]
    assert len(simple) > 30_000 and {table.display_width(letter) for letter in simple} == {1, 2}
    assert [letter for letter in simple if table.display_width(letter) != wcwidth.width(letter)] == []
    assert table.cut("".join(simple), 999) == wcwidth.clip("".join(simple), 0, 998, fillchar="") + "…"


def test_tables_fit_the_terminal() -> None:
    names = ["n", "text", "中文"]
    cells = [(1, "short", "请帮我写一个按钮组件" * 9), (22, "x" * 300, None)]
    for width in (40, 80, 200):
        lines = list(table.render(names, cells, width))
        assert len(lines) == 4 and max(map(table.display_width, lines)) <= width
        assert lines[2].startswith(" 1  short") and lines[3].startswith("22  xxx")
    listed = list(table.render([f"column{number}" for number in range(20)], [["value"] * 20] * 2, 80))
    assert len(listed) == 41 and listed[0] == "column0   value"
    assert list(table.render(["x"], [], 80)) == ["x", "─"]
