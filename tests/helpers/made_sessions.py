"""Sessions with every kind of line that clients old and new write, and hooks that saw all, a part or nothing of them."""

from __future__ import annotations

import itertools
import random
from typing import Any

from tests.helpers import transcript_lines as made

TASK = "<task-notification>\n<task-id>b1</task-id>\n<summary>It ended</summary>\n</task-notification>"
TOOLS = ("Bash", "Edit", "Write", "Read", "NotebookEdit", "mcp__shop__list")


class Session:
    """One session: its files, and the events that hooks sent."""

    def __init__(self, seed: int, seen: float) -> None:
        self.dice = random.Random(seed)
        self.seen = seen
        self.main = made.Transcript(f"made-{seed}")
        self.main.clock = made.START.replace(day=1 + seed % 20)
        self.files = [self.main]
        self.events: list[dict[str, Any]] = []
        self.numbers = itertools.count(1)
        for _ in range(7):
            self.prompt()
            for _ in range(self.dice.randrange(5)):
                self.dice.choice(
                    (
                        *(self.calls, self.calls, self.denied, self.noise, self.queue, self.agent, self.sidechain),
                        self.other_id,
                    )
                )()
            self.end()

    def event(self, name: str, **more: Any) -> None:
        """What a hook sends, if there is one at this moment."""
        if self.dice.random() < self.seen:
            self.events.append({"session_id": self.main.session_id, "hook_event_name": name, **more})

    def prompt(self) -> None:
        number = next(self.numbers)
        text, prompt_id = f"Prompt {number} of {self.main.session_id}", f"p{number}-{self.main.session_id}"
        self.main.user(text, promptId=prompt_id)
        self.event("UserPromptSubmit", prompt=text, prompt_id=prompt_id)

    def usage(self) -> dict[str, int]:
        return {"input_tokens": self.dice.randrange(1000), "output_tokens": self.dice.randrange(1, 500)}

    def calls(self, file: made.Transcript | None = None, seen: bool = True, **fields: Any) -> None:
        """Some calls at once, whose results come in another order."""
        file = file or self.main
        seen = seen and not fields
        agent = {"agent_id": file.agent_id} if file.agent_id else {}
        running = []
        for _ in range(self.dice.choice((1, 2, 3))):
            tool, number = self.dice.choice(TOOLS), next(self.numbers)
            key = {"Bash": "command", "NotebookEdit": "notebook_path"}.get(tool, "file_path")
            inputs = {"new_string": "x" * self.dice.choice((5, 900)), key: f"/home/dev/shop/{number % 7}.py"}
            call = file.call(tool, inputs, usage=self.usage(), **fields)
            running.append((tool, inputs, call))
            if seen:
                self.event("PreToolUse", tool_name=tool, tool_input=inputs, tool_use_id=call, **agent)
        self.dice.shuffle(running)
        for tool, inputs, call in running:
            fate = self.dice.choice(("ok", "ok", "failed", "cut off"))
            base = {"tool_name": tool, "tool_input": inputs, "tool_use_id": call, **agent}
            if fate != "cut off":
                file.result(call, "Exit code 1\nno" if fate == "failed" else "fine", fate == "failed", **fields)
            if fate == "failed" and seen:
                self.event("PostToolUseFailure", **base, error="Exit code 1\nno")
            elif fate == "ok" and seen:
                self.event("PostToolUse", **base, tool_response="fine")

    def denied(self) -> None:
        inputs = {"command": f"rm {next(self.numbers)}"}
        call = self.main.call("Bash", inputs)
        self.event("PreToolUse", tool_name="Bash", tool_input=inputs, tool_use_id=call)
        self.event("PermissionRequest", tool_name="Bash", tool_input=inputs)
        self.main.result(call, self.dice.choice((made.said("not this"), made.DENIED + made.STOP)), True)

    def noise(self) -> None:
        """What nobody typed."""
        self.main.user("<bash-input>ls</bash-input>")
        self.main.user("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>")
        self.main.user("<command-name>/clear</command-name>")
        self.main.user("As the command says.", isMeta=True)
        self.main.user(f"{TASK}{next(self.numbers)}", origin={"kind": "task-notification"})
        self.event("UserPromptSubmit", prompt=f"{TASK}{next(self.numbers)}")
        self.main.add("system", subtype="compact_boundary", content="Compacted")
        self.main.user("What was said so far.", isCompactSummary=True)

    def queue(self) -> None:
        """Typed while the model works."""
        texts = [f"Queued {next(self.numbers)}" for _ in range(4)]
        for text in texts:
            self.main.queue("enqueue", text)
        self.main.queue("remove", texts[0])  # an old client leaves nothing else of it
        self.main.queue("remove", texts[1])
        self.main.attachment(type="queued_command", prompt=texts[1], commandMode="prompt")
        self.main.queue("popAll", texts[2])
        self.main.queue("dequeue")
        self.main.user(texts[3])

    def agent(self) -> None:
        """A sub-agent with a file of its own."""
        file = made.Transcript(self.main.session_id, agent_id=f"a{next(self.numbers)}{self.main.session_id[5:]}")
        file.clock = self.main.clock
        self.files.append(file)
        file.user("Look around")
        self.calls(file)
        file.answer("Looked.", usage=self.usage())

    def sidechain(self) -> None:
        """Sub-agents of an old client, whose lines stand among the others."""
        before = self.main.last
        for name in "xy":
            self.main.last = None
            self.main.user(f"Look at {name}{next(self.numbers)}", isSidechain=True, parent=None)
            self.calls(isSidechain=True)
        self.main.last = before

    def other_id(self) -> None:
        """Lines of another session, between those of this one in the same file; no hook saw it."""
        other = {"sessionId": f"other-{self.main.session_id}"}
        self.main.user(f"Elsewhere {next(self.numbers)}", **other)
        self.calls(**other)
        self.main.answer(f"Done elsewhere {next(self.numbers)}", usage=self.usage(), **other)

    def fork(self) -> made.Transcript:
        """A session that begins with the lines of this one up to the middle, as a client writes it; its file."""
        file = made.Transcript(f"fork-{self.main.session_id}")
        own = [line for line in self.main.lines if line["sessionId"] == self.main.session_id]
        kept = own[: len(own) // 2]
        origin = {"sessionId": self.main.session_id, "messageUuid": kept[-1].get("uuid")}
        file.lines = [{**line, "sessionId": file.session_id, "forkedFrom": origin} for line in kept]
        file.last, file.clock = kept[-1].get("uuid"), self.main.clock
        file.user(f"Prompt {next(self.numbers)} of {file.session_id}")
        self.calls(file, seen=False)
        file.answer(f"Done {next(self.numbers)}", usage=self.usage())
        return file

    def end(self) -> None:
        fate = self.dice.random()
        if fate < 0.2:
            words = f"API Error {next(self.numbers)}"
            self.main.answer(words, model="<synthetic>", isApiErrorMessage=True)
            self.event("StopFailure", error="overloaded", last_assistant_message=words)
            return
        line = self.main.answer(f"Done {next(self.numbers)}", usage=self.usage())
        copy = {**line, "uuid": line["uuid"] + "b", "message": {**line["message"], "content": []}}
        self.main.lines.append(copy)  # one answer, two lines
        self.event("Stop", last_assistant_message=line["message"]["content"][0]["text"])
        if fate > 0.7:
            self.main.tick(self.dice.choice((-7200, -600, 86_400)))  # somebody sets the clock
