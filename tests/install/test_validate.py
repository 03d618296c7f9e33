"""Every rule passes what is right, and tells what is wrong, where, by whose word, and what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessionlog.agents.claude_code.events import CORE, EVENTS, RECORDED
from sessionlog.cli.main import cli
from sessionlog.cli.validate import command
from sessionlog.errors import SessionlogError
from sessionlog.install.validate import check as validate

SPEC, CLIENT = "specification", "client 2.1.325"
PLUGIN, SETTINGS, MANIFEST = (
    "plugin/hooks/hooks.json",
    "project/.claude/settings.json",
    "plugin/.claude-plugin/plugin.json",
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, a project and a plugin with a few scripts; the working directory is the project's parent."""
    for folder in ("home/.claude", "project/.claude/hooks", "project/.git", "plugin/hooks", "plugin/.claude-plugin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "plugin" / "scripts").mkdir()
    for name, text, mode in (
        ("plugin/scripts/check.sh", "#!/bin/sh\nexit 0 # never exit 2\n", 0o755),
        ("plugin/scripts/plain.sh", "exit 0\n", 0o644),
        ("plugin/scripts/block.sh", "#!/bin/sh\nexit 2\n", 0o755),
        ("plugin/scripts/block.py", '"""Says exit 2 here."""\nimport sys\nsys.exit(2)\n', 0o644),
        ("plugin/scripts/calm.py", '"""Never does exit 2."""\n# sys.exit(2)\n', 0o644),
        ("plugin/scripts/block.js", "process.exit(2)\n", 0o644),
        ("plugin/more.json", '{"hooks": {}}', 0o644),
        ("project/.claude/hooks/style.sh", "#!/bin/sh\n", 0o755),
        ("project/.claude/hooks/log.py", "", 0o644),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    for name in [name for name in os.environ if name.startswith("CLAUDE")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args, catch_exceptions=False)


def findings(*args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("--json", *args).stdout)
    return found


def hook(handler: str, event: str = "PostToolUse", group: str = "") -> str:
    """A hooks file with one handler."""
    return f'''{{
  "hooks": {{
    "{event}": [
      {{{group} "hooks": [
        {handler}
      ]}}
    ]
  }}
}}
'''


def run_this(words: str, more: str = "", mark: str = "") -> str:
    """A command handler."""
    return f'{{"type": "command", "command": {mark}{json.dumps(words)}{more}}}'


ROOT = "${CLAUDE_PLUGIN_ROOT}/scripts"
CALM = f"python3 {ROOT}/calm.py"
PROJECT = "$CLAUDE_PROJECT_DIR/.claude/hooks"
OK = run_this("true")
HANDLER = "hooks.PostToolUse[0].hooks[0]"
ASK = '{"type": "prompt", "prompt": "x"}'


class Case(NamedTuple):
    """For one rule a text that passes, and one that fails at the mark »."""

    rule: str
    good: str
    bad: str
    path: str
    says: str
    severity: str = "error"
    source: str = SPEC
    file: str = PLUGIN


def handler(rule: str, bad: str, field: str, says: str, *more: str, event: str = "PostToolUse") -> Case:
    """A handler that is wrong as a whole, or in one field."""
    return Case(rule, hook(OK, event), hook(bad, event), f"hooks.{event}[0].hooks[0]{field}", says, *more)


def words(rule: str, good: str, bad: str, says: str, *more: str, event: str = "PostToolUse") -> Case:
    """Two commands."""
    texts = (hook(run_this(good), event), hook(run_this(bad, mark="»"), event))
    return Case(rule, *texts, f"hooks.{event}[0].hooks[0].command", says, *more)


def field(rule: str, name: str, good: str, bad: str, says: str, *more: str, event: str = "PostToolUse") -> Case:
    """One field of a command handler with two values; a problem with the key is marked in the value as »»."""
    key = f'»"{name}"' if bad.startswith("»»") else f'"{name}"'
    texts = (hook(run_this("true", good and f', "{name}": {good}'), event),)
    texts += (hook(run_this("true", f", {key}: {bad.removeprefix('»»')}"), event),)
    return Case(rule, *texts, f"hooks.{event}[0].hooks[0].{name}", says, *more)


def matcher(rule: str, good: str, bad: str, says: str, *more: str, event: str = "PostToolUse") -> Case:
    texts = (hook(OK, event, f'"matcher": {good},'), hook(OK, event, f'"matcher": »{bad},'))
    return Case(rule, *texts, f"hooks.{event}[0].matcher", says, *more)


EMPTY = '{"hooks": {}}'
NOT_SPECIFIED = "but not to the specification"
CASES = [
    Case("V-HK-01", EMPTY, '{"hooks": {}»,}', "", "a comma before } is not allowed"),
    Case("V-HK-01", EMPTY, "»", "", "the text is empty"),
    Case("V-HK-01", EMPTY, '{"hooks": {},\n  »// soon\n}', "", "no comments"),
    Case("V-HK-01", EMPTY, '{"hooks": »NaN}', "", "no NaN"),
    Case("V-HK-01", EMPTY, "[" * 200 + "»" + "[" * 9000, "", "nested more than 200 levels deep"),
    Case("V-HK-02", '{"description": "x", "hooks": {}}', '»{"description": "x"}', "", "no `hooks`"),
    Case("V-HK-02", EMPTY, '»{"Stop": []}', "", "no `hooks`"),
    Case("V-HK-02", EMPTY, '{"hooks": »[]}', "hooks", "no object"),
    Case("V-HK-02", EMPTY, "»[]", "", "the root is no object"),
    Case("V-HK-02", '{"model": "opus"}', '{"hooks": »"x"}', "hooks", "no object", file=SETTINGS),
    Case("V-HK-02", '{"hooks": ["./more.json"]}', '{"hooks": »1}', "hooks", "no object", file=MANIFEST),
    Case("V-HK-03", hook(OK), '{"hooks": {»"postToolUse": []}}', "hooks.postToolUse", "there is no event"),
    Case("V-HK-03", hook(OK), '{"hooks": {»"My Event": []}}', 'hooks["My Event"]', "there is no event"),
    Case("V-HK-03", hook(OK), '{"hooks": {»"StopFailure": []}}', "hooks.StopFailure", NOT_SPECIFIED, "warning"),
    Case("V-HK-04", hook(OK), '{"hooks": {"Stop": »{}}}', "hooks.Stop", "no list of groups"),
    Case("V-HK-04", hook(OK), '{"hooks": {"Stop": [»"x"]}}', "hooks.Stop[0]", "a group is an object"),
    Case("V-HK-04", hook(OK), f'{{"hooks": {{"Stop": [»{OK}]}}}}', "hooks.Stop[0]", "has no `hooks`"),
    Case("V-HK-04", hook(OK), '{"hooks": {"Stop": [{"hooks": »{}}]}}', "hooks.Stop[0].hooks", "is no list"),
    handler("V-HK-05", '{"type": »"comand", "command": "true"}', ".type", 'no handler type "comand"'),
    handler("V-HK-05", '»{"command": "true"}', "", "no `type`"),
    handler("V-HK-05", '{"type": »7}', ".type", "no handler type 7"),
    handler("V-HK-05", '»"true"', "", "a handler is an object"),
    handler("V-HK-05", '{"type": »"http", "url": "http://localhost"}', ".type", NOT_SPECIFIED, "warning"),
    handler("V-HK-05", ASK.replace('"p', '»"p', 1), ".type", "today's client does", "warning", event="TeammateIdle"),
    words("V-HK-06", "[ -f x ] || exit 0; x", "no-such-program x", "PATH"),
    words("V-HK-06", "no-such-program || true", "no-such-program || exit 1", "PATH"),
    words("V-HK-06", f"{ROOT}/check.sh", f"{ROOT}/plain.sh", "not executable"),
    words("V-HK-06", "$UNKNOWN/x", ROOT, "is a folder"),
    words("V-HK-06", "/bin/sh -c true", "/no/such/program", "does not exist"),
    words("V-HK-06", "echo 'x'", "echo 'x", "no closing quotation"),
    words("V-HK-06", "true", " ", "no command"),
    handler("V-HK-06", '»{"type": "command"}', "", "no command"),
    words("V-HK-07", f"bash {ROOT}/plain.sh", f"bash {ROOT}/gone.sh", "gone.sh"),
    words("V-HK-07", f"{ROOT}/check.sh", f"{ROOT}/gone.sh", "gone.sh"),
    words("V-HK-07", f"[ -f {ROOT}/x.sh ] && {ROOT}/x.sh || exit 0", f"node {ROOT}/x.js || exit 0", "x.js"),
    words("V-HK-07", f"{PROJECT}/style.sh", f"{PROJECT}/gone.sh", "gone.sh", "error", SPEC, SETTINGS),
    handler("V-HK-08", '»{"type": "prompt"}', "", "`prompt`"),
    handler("V-HK-08", '{"type": "agent", "prompt": »""}', ".prompt", "`prompt`"),
    matcher("V-HK-09", '"Edit|Write"', '"*Edit"', "nothing to repeat"),
    matcher("V-HK-09", '"*"', '["Edit"]', "not a string"),
    matcher("V-HK-09", '"(?<t>mcp)__.*"', '"(?P<t>mcp)__.*"', "JavaScript has no such"),
    matcher("V-HK-09", '"compact"', '"("', "missing )", event="SessionStart"),
    words("V-HK-10", "exit 1", "exit 2", "cannot block PostToolUse", "warning"),
    words("V-HK-10", f"{ROOT}/check.sh", f"{ROOT}/block.sh", "block.sh", "warning"),
    words("V-HK-10", CALM, f"python3 {ROOT}/block.py", "block.py", "warning"),
    words("V-HK-10", f"bash {ROOT}/plain.sh", f"node {ROOT}/block.js", "block.js", "warning"),
    words("V-HK-10", "true", "exit 2", "today's client does block", "warning", event="PreCompact"),
    words("V-HK-11", f"{ROOT}/check.sh", "./scripts/check.sh", "does not hold", "warning"),
    words("V-HK-11", f"cd {ROOT} && ./check.sh", "bash ~/../plugin/scripts/plain.sh", "does not hold", "warning"),
    field("V-HK-12", "timeout", "10", "»0", "positive integer", "warning"),
    field("V-HK-12", "timeout", "10.0", "»1.5", "the client takes fractions", "warning"),
    field("V-HK-12", "timeout", "", "»true", "positive integer", "warning"),
    field("V-HK-12", "timeout", "600", '»"10"', "positive integer", "warning"),
    field("V-HK-13", "statusMessage", '"…"', "»1", "no string", "warning"),
    field("V-HK-14", "once", "false", '»"yes"', "neither true nor false", "warning"),
    field("V-HK-15", "async", "true", "»1", "neither true nor false", "warning"),
    handler("V-HK-15", '{"type": "prompt", "prompt": "x", »"async": true}', ".async", "no effect", "warning"),
    Case("V-CC-01", EMPTY, '{»"hooks": {}, "hooks": {}}', "hooks", "comes again later", "warning", CLIENT),
    handler("V-CC-02", '»{"type": "http"}', "", "`url`", "error", CLIENT),
    handler("V-CC-02", '»{"type": "mcp_tool", "server": "x"}', "", "`tool`", "error", CLIENT),
    handler("V-CC-03", ASK.replace('"p', '»"p', 1), ".type", "runs no prompt", "error", CLIENT, event="SessionEnd"),
    handler("V-CC-03", '{"type": »"http"}', ".type", "runs no http", "error", CLIENT, event="SessionStart"),
    field("V-CC-04", "tmeout", "", "»»1", "no field of a command handler", "warning", CLIENT),
    field("V-CC-04", "args", "", "»»[]", NOT_SPECIFIED, "warning"),
    Case("V-CC-04", hook(OK), '{"hooks": {"Stop": [{»"x": 1}]}}', "hooks.Stop[0].x", "a group", "warning", CLIENT),
    Case("V-CC-04", EMPTY, '{»"version": 1, "hooks": {}}', "version", "no field of hooks.json", "warning", CLIENT),
    matcher("V-CC-05", '""', '"x"', "ignores the matcher", "warning", CLIENT, event="Stop"),
    matcher("V-CC-05", '"Bash"', '"Bash(git *)"', "never matches", "warning", CLIENT),
    field("V-CC-06", "if", "", '»»"Bash(ls)"', "never runs", "error", CLIENT, event="Stop"),
    field("V-CC-06", "once", "false", "»»true", "skill", "warning", CLIENT),
    field("V-CC-07", "shell", "", '»"fish"', '`shell` is "fish"', "error", CLIENT),
    field("V-CC-07", "args", "", '»"x"', '`args` is "x"', "error", CLIENT),
    words("V-CC-08", "exit 1", "exit 2", "the client ignores", "warning", CLIENT, event="PermissionRequest"),
    words("V-CC-09", f"{PROJECT}/style.sh", ".claude/hooks/style.sh", "its folder", "warning", CLIENT, SETTINGS),
    words("V-CC-09", "true", "${CLAUDE_PLUGIN_ROOT}/x.sh", "plugins only", "warning", CLIENT, SETTINGS),
    words("V-CC-10", f"{CALM} || exit 1", CALM, "python3 ends with 2", "warning", CLIENT, event="Stop"),
    Case("V-CC-11", '{"hooks": "./more.json"}', '{"hooks": »"./x"}', "hooks", "no file", "error", CLIENT, MANIFEST),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule} {case.says}")
def test_each_rule_passes_the_good_and_finds_the_bad(case: Case, place: Path) -> None:
    file = place / case.file
    file.write_text(case.good)
    assert findings(case.file) == []

    before, _, after = case.bad.partition("»")
    file.write_text(before + after)
    (found,) = [finding for finding in findings(case.file) if finding["rule"] == case.rule]
    assert case.says in found["message"]
    assert found["advice"]
    lines = before.split("\n")
    where = {"file": case.file, "line": len(lines), "column": len(lines[-1]) + 1, "path": case.path}
    assert found == found | where | {"severity": case.severity, "source": case.source}
    assert run(case.file).exit_code == (1 if any(f["severity"] == "error" for f in findings(case.file)) else 0)
    assert run(case.file, "--strict").exit_code == 1


def test_every_rule_has_a_case_and_the_specification_has_fifteen() -> None:
    ids = [rule.id for rule in validate.rules()]
    assert ids[:15] == [f"V-HK-{number:02}" for number in range(1, 16)]
    assert set(ids) == {case.rule for case in CASES}
    severities = {rule.id: rule.severity for rule in validate.rules()}
    assert [severities[id] for id in ids[:15]] == ["error"] * 9 + ["warning"] * 6
    listed = run("--rules").stdout
    assert all(rule.id in listed and rule.sentence in listed and rule.source in listed for rule in validate.rules())


EXAMPLES = {
    "check after an edit": hook(
        run_this(f"{ROOT}/check.sh", ', "timeout": 15, "statusMessage": "正在检查修改…"'),
        group='"matcher": "Write|Edit",',
    ),
    "stop a command": hook(run_this(f"{ROOT}/block.sh", ', "timeout": 30'), "PreToolUse", '"matcher": "Bash",'),
    "is the work done": hook(
        json.dumps({"type": "prompt", "prompt": "都完成了吗？\n\n$ARGUMENTS", "model": "haiku", "timeout": 15}), "Stop"
    ),
    "load the environment": hook(
        run_this(f"{ROOT}/check.sh", ', "timeout": 10, "async": false, "once": false'),
        "SessionStart",
        '"matcher": "startup|resume",',
    ),
    "review by an agent": hook(
        json.dumps({"type": "agent", "prompt": "这条命令安全吗？$ARGUMENTS", "timeout": 60}),
        "PreToolUse",
        '"matcher": "Bash",',
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_specification_are_clean(example: str, place: Path) -> None:
    (place / PLUGIN).write_text(EXAMPLES[example])
    result = run(PLUGIN, "--strict")
    assert (result.exit_code, result.stdout) == (0, f"{PLUGIN}  no problems\n\nNo problems in 1 file.\n")


def test_the_terminal_shows_place_rule_source_advice_and_a_summary(place: Path) -> None:
    (place / PLUGIN).write_text('{\n  "hooks": {\n    "Stopp": [],\n    "PostCompact": []\n  }\n}\n')
    result = run(PLUGIN)
    assert result.exit_code == 1
    assert result.stdout == (
        f'{PLUGIN}:3:5  error    V-HK-03  there is no event "Stopp", neither in the specification nor in the client'
        "  [specification]\n"
        '    hooks.Stopp: Did you mean "Stop"?\n'
        f'{PLUGIN}:4:5  warning  V-HK-03  "PostCompact" is known to the client since 2.1.76, but not'
        " to the specification  [specification]\n"
        "    hooks.PostCompact: Clients before 2.1.76 ignore the whole file for one unknown name.\n"
        "\n1 error and 1 warning in 1 file.\n"
    )


def test_colour_is_for_terminals_only(place: Path) -> None:
    (place / PLUGIN).write_text("{}")
    assert "\x1b[" not in run(PLUGIN).stdout
    assert "\x1b[31merror" in CliRunner().invoke(command, [PLUGIN], color=True).stdout


@pytest.mark.parametrize(("text", "code", "strict"), [("{}", 1, 1), (hook(OK, "Setup"), 0, 1), (hook(OK), 0, 0)])
def test_the_exit_code_of_the_real_process(text: str, code: int, strict: int, place: Path) -> None:
    (place / PLUGIN).write_text(text)
    program = [sys.executable, "-c", "from sessionlog.cli.validate import command; command()", PLUGIN]
    environment = {**os.environ, "PYTHONPATH": str(Path(validate.__file__).parents[3])}
    assert subprocess.run(program, env=environment, capture_output=True, check=False).returncode == code
    program.append("--strict")
    assert subprocess.run(program, env=environment, capture_output=True, check=False).returncode == strict


def test_what_install_wrote_is_no_reason_to_warn(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asked for the version of the client; the same event with a hook of others is one they may have to look at."""
    monkeypatch.chdir(place / "project")
    words = ["install", "--client-version", "2.1.325", "--yes"]
    assert CliRunner().invoke(cli, words).exit_code == 0
    settings = place / "home/.claude/settings.json"
    values = json.loads(settings.read_text())
    assert "PostModelSwitch" in values["hooks"] and findings() == []
    values["hooks"]["Setup"].append({"hooks": [{"type": "command", "command": "true || exit 1"}]})
    settings.write_text(json.dumps(values))
    assert [(found["rule"], found["path"]) for found in findings()] == [("V-HK-03", "hooks.Setup")]


def test_without_a_file_the_settings_in_force_are_checked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place / "project")
    assert run().stdout.startswith("There are no settings files here")
    assert run("--json").stdout == "[]\n"
    (place / "home/.claude/settings.json").write_text('{"model": "opus"}')
    (place / SETTINGS).write_text('{"hooks": {"Stop": 1}}')
    (place / "project/.claude/settings.local.json").write_text('{"hooks": {"stop": []}}')
    assert [(Path(found["file"]).name, found["rule"]) for found in findings()] == [
        ("settings.json", "V-HK-04"),
        ("settings.local.json", "V-HK-03"),
    ]
    assert run().stdout.endswith("2 errors in 3 files.\n")
    (place / "elsewhere").mkdir()
    (place / "elsewhere/settings.json").write_text("{")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place / "elsewhere"))
    assert findings()[0]["rule"] == "V-HK-01"


def test_a_folder_is_a_plugin_or_a_project(place: Path) -> None:
    with pytest.raises(SessionlogError, match="There are no hooks in plugin"):
        run("plugin")
    (place / SETTINGS).write_text("[]")
    assert (
        {found["file"] for found in findings("project")}
        == {SETTINGS}
        == {f["file"] for f in findings("project/.claude")}
    )
    (place / MANIFEST).write_text('{"name": "x", "hooks": ["./more.json", "hooks/hooks.json", {"Stop": [1]}]}')
    (place / "plugin/more.json").write_text('{"hooks": {"X": []}}')
    (place / PLUGIN).write_text("{}")
    assert [(Path(found["file"]).name, found["rule"], found["path"]) for found in findings("plugin")] == [
        ("plugin.json", "V-HK-04", "hooks[2].Stop[0]"),
        ("hooks.json", "V-HK-02", ""),
        ("more.json", "V-HK-03", "hooks.X"),
    ]


def test_a_file_that_is_not_there_or_no_text_is_told(place: Path) -> None:
    with pytest.raises(SessionlogError, match=r"There is no file gone\.json"):
        run("gone.json")
    (place / PLUGIN).write_bytes(b'{\n "\xff": 1}')
    (found,) = findings(PLUGIN)
    assert (found["rule"], found["line"], found["column"]) == ("V-HK-01", 2, 3)
    assert "0xff is no UTF-8" in found["message"]


def test_a_byte_order_mark_is_a_warning_and_no_column(place: Path) -> None:
    (place / PLUGIN).write_bytes(b'\xef\xbb\xbf{"hooks": 1}')
    assert [(found["rule"], found["severity"], found["column"]) for found in findings(PLUGIN)] == [
        ("V-HK-01", "warning", 1),
        ("V-HK-02", "error", 11),
    ]


def test_the_user_s_own_settings_know_no_project(place: Path) -> None:
    text = hook(run_this("$CLAUDE_PROJECT_DIR/gone.sh") + "," + run_this("~/gone.sh"))
    (place / "home/.claude/settings.json").write_text(text)
    assert [found["path"] for found in findings("home/.claude/settings.json")] == [
        "hooks.PostToolUse[0].hooks[1].command"
    ]


@pytest.mark.parametrize(
    ("words", "more", "advice"),
    [
        (CALM, "", "Append: || exit 1"),
        (f"python3 {ROOT}/block.py", "", f'Put in front: [ -f "{ROOT}/block.py" ] || exit 1;'),
        ("python3", f', "args": ["{ROOT}/calm.py"]', f'Use the shell form: [ -f "{ROOT}/calm.py" ] || exit 1; python3'),
    ],
)
def test_the_advice_against_a_block_by_accident_keeps_a_block_on_purpose(
    words: str, more: str, advice: str, place: Path
) -> None:
    (place / PLUGIN).write_text(hook(run_this(words, more), "UserPromptSubmit"))
    (found,) = [found for found in findings(PLUGIN) if found["rule"] == "V-CC-10"]
    assert found["advice"].startswith(advice)
    assert found["path"].endswith(".args[0]" if more else ".command")


def test_powershell_is_not_read_as_a_shell(place: Path) -> None:
    (place / PLUGIN).write_text(hook(run_this("no-such-program 'x", ', "shell": "powershell"')))
    assert [found["rule"] for found in findings(PLUGIN)] == ["V-CC-04"]


def test_a_hostile_file_cannot_reach_the_terminal(place: Path) -> None:
    (place / PLUGIN).write_text('{"hooks": {"\\u001b[2J\\ud800\\u202e": []}}')
    shown = run(PLUGIN).stdout
    assert "\\u001b" in shown and "\\ud800" in shown and "\\u202e" in shown
    assert shown.replace("\n", "").isprintable()


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
SHELL = st.lists(
    st.sampled_from(
        ["python3", "a.py", "/a.sh", "~", "$X", "${X:-y}", "$(", "`", "'", '"', "#", "<<", ">", "||", "&&", ";"]
    )
    | st.sampled_from(["|", "&", "(", ")", "{", "}", "[", "-f", "exit 2", "cd", "A=1", "\n", "\0", "\ud800", "\\"]),
    max_size=8,
).map(" ".join)
FIELDS = ("args", "timeout", "if", "async", "once", "prompt", "url", "shell", "statusMessage", "x")
HANDLERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["command", "prompt", "agent", "http", "mcp_tool"]) | ANY, "command": SHELL | ANY},
    optional=dict.fromkeys(FIELDS, ANY),
)
GROUPS = st.fixed_dictionaries({"hooks": st.lists(HANDLERS | ANY, max_size=2) | ANY}, optional={"matcher": SHELL | ANY})
HOOKS = st.dictionaries(st.sampled_from(list(EVENTS)) | st.text(), st.lists(GROUPS | ANY, max_size=2) | ANY, max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(hooks=HOOKS | ANY, name=st.sampled_from([PLUGIN, SETTINGS, MANIFEST]))
def test_no_file_whatsoever_stops_the_check(hooks: Any, name: str, place: Path) -> None:
    (place / name).write_text(json.dumps({"hooks": hooks}))
    for found in findings(name):
        assert found["message"] and found["advice"] and found["line"] == 1


def test_the_catalogue_of_events_is_the_client_s() -> None:
    assert (len(EVENTS), len(CORE)) == (33, 14)
    assert list(EVENTS) == [event.name for event in EVENTS.values()]
    assert set(EVENTS) - set(RECORDED) == {
        *("WorktreeCreate", "WorktreeRemove", "PreModelSwitch", "MessageDisplay", "FileChanged", "PostToolBatch")
    }
    assert set(CORE) < set(RECORDED)


def test_of_very_many_problems_the_first_ones_are_printed(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"hooks": {' + ", ".join('"Stop": []' for _ in range(300)) + "}}")
    text = run(str(path)).output
    total = len(json.loads(run(str(path), "--json").output))
    assert total >= 299 and text.count(f"{path}:") == 100
    assert f"… and {total - 100:,} more (--json lists all)" in text
