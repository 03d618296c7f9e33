"""A hook's command is read as a shell would, and nothing is claimed that cannot be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionlog.install.validate import javascript_regex
from sessionlog.install.validate.shell_words import Command, Script, read_exec, read_shell

VARIABLES = {"HOME": "/home/ann", "CLAUDE_PROJECT_DIR": "/srv/shop"}
HERE = Path("/srv/shop")


def read(text: str) -> Command:
    return read_shell(text, VARIABLES, HERE)


def only_script(text: str) -> Script:
    (script,) = read(text).scripts
    return script


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("python3 x.py", "python3"),
        ("A=1 B=2 python3 x.py", "python3"),
        ('"$CLAUDE_PROJECT_DIR"/.claude/hooks/a.sh', "/srv/shop/.claude/hooks/a.sh"),
        ("~/bin/log --all", "/home/ann/bin/log"),
        ("${TOOLS:-/opt/tools}/log", "/opt/tools/log"),
        ("./log", "/srv/shop/log"),
        ("(log)", "log"),
        ("log \\\n  --all", "log"),
        ("log <<EOF\ndon't\nEOF", "log"),
        ("log # don't", None),
        ("# note\nlog", "log"),
        ("if true; then log; fi", None),
        ("[ -f x ] && log", None),
        ("cd /tmp && log", None),
        ("$TOOL --all", None),
        ("$(which python3) x.py", None),
        ("`which python3` x.py", None),
        ("/opt/*/log", None),
        ("", None),
    ],
)
def test_the_program_is_known_or_left_alone(text: str, program: str | None) -> None:
    command = read(text)
    assert (command.program, command.broken) == (program, "")


def test_a_missing_quote_is_told() -> None:
    assert read("echo 'x").broken == "no closing quotation"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python3 -u -W ignore hooks/a.py --mode b/c", ["hooks/a.py"]),
        ("timeout 5 python3 a.py", ["a.py"]),
        ("/usr/bin/env python3 /a/b.py", ["/a/b.py"]),
        ("uv run --project /a/b hook.py", ["hook.py"]),
        ("cat | bash /a/run", ["/a/run"]),
        ("run.cmd ${CLAUDE_PLUGIN_ROOT}/a.sh", ["${CLAUDE_PLUGIN_ROOT}/a.sh"]),
        ("hooks/run", ["hooks/run"]),
        ("F=/a/b.py; python3 $F", ["$F"]),
        ("python3 a.py > /tmp/log.py 2>&1", ["a.py"]),
        ("python3 -c 'import a' /a/b.py", []),
        ("python3 -m package.module", []),
        ("bash -lc 'python3 /a/b.py'", []),
        ("prettier --write a.js", []),
        ("find . -name a.py", []),
        ("echo python3 /a/b.py", []),
        ("curl https://example.com/a.sh", []),
    ],
)
def test_the_scripts_are_those_that_run(text: str, words: list[str]) -> None:
    assert [script.word for script in read(text).scripts] == words


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("python3 /a.py", True),
        ("python3 /a.py 2>/dev/null", True),
        ("true && python3 /a.py", True),
        ("cat | python3 /a.py", True),
        ("(python3 /a.py)", True),
        ("python3 /a.py;", True),
        ("sh /a.sh", True),
        ("python3 /a.py || exit 1", False),
        ("(python3 /a.py) || exit 1", False),
        ("{ python3 /a.py; } || exit 1", False),
        ("python3 /a.py && log || true", False),
        ("python3 /a.py; exit 0", False),
        ("python3 /a.py\nexit 0", False),
        ("python3 /a.py | log", False),
        ("python3 /a.py &", False),
        ("node /a.js", False),
        ("bash /a.sh", False),
    ],
)
def test_a_missing_script_ends_with_2_unless_something_maps_it(text: str, blocks: bool) -> None:
    assert only_script(text).missing_is_2 is blocks


@pytest.mark.parametrize(
    "text",
    [
        "[ -f /a.py ] && python3 /a.py || exit 0",
        "test -x /a.py && /a.py",
        "[[ -e /a.py ]] || exit 0; python3 /a.py",
        "if [ -r /a.py ]; then python3 /a.py; fi",
        "command -v /a.py && /a.py",
        'F=/a.py; [ -f "$F" ] && python3 "$F"',
    ],
)
def test_a_command_that_looks_first_is_guarded(text: str) -> None:
    script = only_script(text)
    assert script.guarded and script.path == Path("/a.py")


def test_relative_paths_are_unknown_after_cd() -> None:
    assert only_script("./a.sh") == Script("./a.sh", HERE / "a.sh", True, "", False, False)
    assert only_script("cd /x && ./a.sh")[1:3] == (None, False)
    assert read_shell("./a.sh", VARIABLES, None).scripts[0][1:3] == (None, True)


@pytest.mark.parametrize(
    ("text", "optional"), [("log || true", True), ("log || exit 0", True), ("log || exit 1", False)]
)
def test_a_program_may_be_absent_where_the_command_says_so(text: str, optional: bool) -> None:
    assert read(text).optional is optional


def test_exec_form_has_no_shell() -> None:
    command = read_exec("python3", ["-u", "${CLAUDE_PROJECT_DIR}/a b.py", "||", "exit", "1"], VARIABLES, HERE)
    assert command.program == "python3"
    assert [(script.path, script.missing_is_2) for script in command.scripts] == [(HERE / "a b.py", True)]


@pytest.mark.parametrize(
    "pattern",
    [
        *("Bash", "Edit|Write", "mcp__.*", "^Notebook", "(?<tool>Bash)\\k<tool>", "(?<=a+)b", "[^]", "[\\w-.]+", "\\p"),
        *("[[x]", "a{2,3}", "\\1(a)", "(?i:bash)", "", "Bash(git *)", "x{,3}", "工具"),
    ],
)
def test_what_javascript_takes_is_a_matcher(pattern: str) -> None:
    assert javascript_regex.error(pattern) is None


@pytest.mark.parametrize(
    "pattern", ["*Edit", "(Edit", "[a", "a{3,2}", "[z-a]", "(?P<tool>Bash)", "(?i)bash", "a++", "a**", "(?>a)", "\\"]
)
def test_what_javascript_refuses_is_none(pattern: str) -> None:
    assert javascript_regex.error(pattern)
