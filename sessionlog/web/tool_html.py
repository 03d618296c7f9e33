"""What one sees when a tool call is opened: each tool of the client has a look of its own, the rest their arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from markupsafe import Markup, escape

from sessionlog.session import call as calls
from sessionlog.session import pictures
from sessionlog.session.call import Call
from sessionlog.text import inert_markdown, plain, terminal_output
from sessionlog.web import ansi, diffs, highlight
from sessionlog.web.parts import INPUT, OUTPUT, Part, about, cut, words

Inputs = dict[str, Any]

NOTHING: tuple[Any, ...] = (None, False, "", [], {})
# Arguments that the headline, the diff or the terminal shows.
SHOWN_APART = {
    *("command", "description", "file_path", "notebook_path", "old_string", "new_string", "content", "new_source"),
    *("plan", "prompt", "todos", "edits", "questions", "cell_id", "cell_type", "edit_mode", "subject", "status"),
}
DONE, DOING, OPEN = "✓", "▸", "○"


def parts(call: Call) -> Iterator[Part]:
    """All that there is to see of a call."""
    inputs = call.input if isinstance(call.input, dict) else {}
    if diff := diffs.render(call):
        yield from _diff(call, inputs, diff)
    yield from arguments(call, inputs)
    yield from pictures_of(pictures.found_in(call.response))
    if call.outcome == "failed" or not (special := RESULTS.get(call.name)):
        yield from _output(call, inputs)
    else:
        yield from special(call, inputs)


def headline(call: Call) -> str | None:
    """What a list of tasks or a plan comes to; None where the argument of the call says it."""
    inputs = call.input if isinstance(call.input, dict) else {}
    match call.name, inputs:
        case _, {"todos": list(todos)}:
            done = sum(isinstance(todo, dict) and todo.get("status") == "completed" for todo in todos)
            return f"{done} of {len(todos)} done"
        case "TaskCreate", {"subject": str(subject)}:
            return subject
        case "TaskUpdate", {"taskId": task}:
            return f"task {task}: {inputs.get('status') or 'changed'}"
        case "TaskList", _ if isinstance(call.response, dict) and isinstance(call.response.get("tasks"), list):
            return plain.counted(len(call.response["tasks"]), "task")
        case "ExitPlanMode", {"plan": str(plan)}:
            return inert_markdown.words(next(filter(str.strip, plan[:2_000].splitlines()), ""))
        case "Skill", {"skill": str(skill)}:
            return f"/{skill} {inputs.get('args') or ''}".strip()
    return None


# --- What was asked for -----------------------------------------------------------------------------------------------


def arguments(call: Call, inputs: Inputs) -> Iterator[Part]:
    """The arguments, those that matter first."""
    command = inputs.get("command")
    if isinstance(command, str):
        if isinstance(told := inputs.get("description"), str) and told:
            yield about(told)
        some, left_out = cut(command, 30, 4_000)
        yield Part("prompted", highlight.block(some, highlight.for_language("bash")), left_out, "command")
    for name in ("plan", "prompt"):
        if isinstance(text := inputs.get(name), str) and text:
            yield words(text, "markdown", "input")
    if isinstance(todos := inputs.get("todos"), list):
        yield _tasks(todos)
    if call.name == "TaskCreate" and isinstance(text := inputs.get("description"), str):
        yield words(text, "markdown", "input")
    if isinstance(questions := inputs.get("questions"), list):
        yield from _questions(questions, call.response)
    argument = calls.argument(call)
    apart = SHOWN_APART | {"skill", "args"} if call.name == "Skill" else SHOWN_APART
    rest = {
        key: value
        for key, value in inputs.items()
        if key not in apart and value not in NOTHING and (value != argument or len(argument) > 300)
    }
    if rest:
        yield Part("inputs", Markup("").join(_input(key, value) for key, value in list(rest.items())[:20]))
    if (call.input and not inputs) or any(len(_input_text(value)) > INPUT for value in rest.values()):
        some, left_out = cut(calls.text_of(call.input), 3, INPUT)
        yield Part("code", highlight.block(some if not inputs else "", None), left_out or "all of it", "input")


def _diff(call: Call, inputs: Inputs, diff: diffs.Diff) -> Iterator[Part]:
    cell = [inputs.get(key) for key in ("edit_mode", "cell_type", "cell_id")]
    if call.name == "NotebookEdit":
        mode, kind, name = (str(value) if isinstance(value, str) else "" for value in cell)
        yield about(f"{mode or 'replace'} {kind or 'a'} cell {name}".strip())
    yield Part("diff", diff.html, f"all {diff.lines:,} lines" if diff.left_out > 0 else "", "diff")


def _input(key: str, value: Any) -> Markup:
    text = _input_text(value)
    some = text[:INPUT] + "…" * (len(text) > INPUT)
    shown = link(text) if inert_markdown.SAFE_LINK.fullmatch(text) else escape(plain.safe(some))
    return Markup("<dt>{}</dt><dd>{}</dd>").format(plain.one_line(key.replace("_", " "), 60), shown)


def _input_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def link(url: str, text: str = "") -> Markup:
    """A link to somewhere else; whatever is no address is text."""
    if not inert_markdown.SAFE_LINK.fullmatch(url) or len(url) > 2000:
        return escape(plain.one_line(text or url, 300))
    return Markup('<a href="{}" rel="noopener noreferrer nofollow">{}</a>').format(
        url, plain.one_line(text or url, 300)
    )


def _tasks(tasks: list[Any]) -> Part:
    made = [_task(task) for task in tasks[:200] if isinstance(task, dict)]
    return Part("list", Markup("").join(made))


def _task(task: dict[str, Any]) -> Markup:
    status = str(task.get("status"))
    mark = {"completed": DONE, "in_progress": DOING}.get(status, OPEN)
    told = task.get("content") or task.get("subject") or task.get("id")
    return _item(mark, status.replace("_", " "), plain.one_line(str(told), 300))


def _item(mark: str, status: str, text: Markup | str) -> Markup:
    name = "done" if mark == DONE else ""
    return Markup('<li class="{}"><i role="img" aria-label="{}">{}</i> {}</li>').format(
        name, plain.one_line(status, 20), mark, text
    )


def _questions(questions: list[Any], response: Any) -> Iterator[Part]:
    """Each question with its options; what was chosen is marked, and what was typed instead is shown."""
    given = response.get("answers") if isinstance(response, dict) else None
    answers = given if isinstance(given, dict) else {}
    for question in questions[:10]:
        if not isinstance(question, dict):
            continue
        asked = str(question.get("question"))
        answer = str(answers.get(asked) or "")
        yield about(asked)
        options = [option for option in question.get("options") or () if isinstance(option, dict)][:20]
        labels = [str(option.get("label")) for option in options]
        made = [
            _item(
                DONE if chosen else OPEN,
                "chosen" if chosen else "not chosen",
                Markup("<b>{}</b> {}").format(
                    plain.one_line(label, 100), plain.one_line(str(option.get("description") or ""), 300)
                ),
            )
            for option, label in zip(options, labels, strict=True)
            for chosen in (label in answer,)
        ]
        if answer and not any(label in answer for label in labels):
            made.append(_item(DONE, "answered", plain.one_line(answer, 400)))
        yield Part("list", Markup("").join(made))


# --- What came back ---------------------------------------------------------------------------------------------------


def _output(call: Call, inputs: Inputs) -> Iterator[Part]:
    text = calls.output(call).strip("\n")
    if not text or calls.is_change(call):
        return
    failed = call.outcome == "failed"
    if call.action == "agent" and not failed:
        yield words(text, "markdown", "output")
        return
    if call.outcome == "denied":  # what a person said, or a rule
        yield words(text, "words", "output")
        return
    if pictures.found_in(call.response):  # they are shown
        text = _PLACE_OF_PICTURE.sub("", text).strip("\n")
        if not text:
            return
    if not failed and _is_flat(call.response, text):
        yield Part("inputs", Markup("").join(_input(key, value) for key, value in call.response.items()))
        return
    lexer = None
    path = calls.path(call)
    if call.action == "read" and path and not failed:
        lexer = highlight.for_file(path)
    elif text[:1] in "{[" and not isinstance(call.response, str) and _is_json(text):
        lexer = highlight.for_language("json")
    shown = terminal_output.settled(text)
    some, left_out = cut(shown, *OUTPUT, from_end=failed)
    if shown != text.replace("\r\n", "\n") and not left_out:
        left_out = "it as it came, with its control codes"
    html = highlight.block(some, lexer) if lexer else ansi.html(some)
    yield Part("failed output" if failed else "output", html, left_out, "output")


_PLACE_OF_PICTURE = re.compile(r"^\[image(?:, [^\]\n]{1,40})?\]\n?", re.MULTILINE)


def _is_flat(response: Any, text: str) -> bool:
    """Whether JSON is a few facts, each of them short: a list of them is easier to read."""
    if not isinstance(response, dict) or not 0 < len(response) <= 12 or not _is_json(text):
        return False
    if json.loads(text) != response:  # a command that printed JSON
        return False
    facts = [value for value in response.values() if value is not None]
    return all(isinstance(fact, (str, int, float)) and len(str(fact)) < 400 and "\n" not in str(fact) for fact in facts)


def _is_json(text: str) -> bool:
    """Logs often begin with a bracket as well."""
    if len(text) > highlight.COLOURED:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def pictures_of(found: list[pictures.Picture]) -> Iterator[Part]:
    """Pictures, each loaded when somebody scrolls to it."""
    for number, picture in enumerate(found):
        yield Part("picture", _size(picture), source=str(number))


def _size(picture: pictures.Picture) -> Markup:
    if not 0 < picture.width < 20_000 or not 0 < picture.height < 20_000:
        return Markup("")
    return Markup(' width="{}" height="{}"').format(picture.width, picture.height)


def _nothing(call: Call, inputs: Inputs) -> Iterator[Part]:
    """The arguments say it all."""
    yield from ()


def _fetched(call: Call, inputs: Inputs) -> Iterator[Part]:
    response = call.response if isinstance(call.response, dict) else {}
    if not isinstance(text := response.get("result"), str):
        yield from _output(call, inputs)
        return
    size = response.get("bytes")
    told = [f"HTTP {code}" if (code := response.get("code")) else "", str(response.get("codeText") or "")]
    told.append(plain.size(size) if isinstance(size, int) else "")
    yield about(" ".join(filter(None, told)))
    yield words(text, "markdown", "output")


def _searched(call: Call, inputs: Inputs) -> Iterator[Part]:
    response = call.response if isinstance(call.response, dict) else {}
    results = response.get("results")
    if not isinstance(results, list):
        yield from _output(call, inputs)
        return
    for result in results[:40]:
        if isinstance(result, str):
            yield words(result, "markdown", "output")
        elif isinstance(result, dict) and isinstance(hits := result.get("content"), list):
            made = [
                Markup("<li>{} {}</li>").format(
                    link(str(hit.get("url")), str(hit.get("title") or "")),
                    plain.one_line(str(hit.get("snippet") or ""), 300),
                )
                for hit in hits[:40]
                if isinstance(hit, dict)
            ]
            yield Part("list", Markup("").join(made))


def _listed(call: Call, inputs: Inputs) -> Iterator[Part]:
    response = call.response if isinstance(call.response, dict) else {}
    tasks = response.get("tasks") or [response.get("task")]
    if isinstance(tasks, list) and any(isinstance(task, dict) for task in tasks):
        yield _tasks(tasks)
    else:
        yield from _output(call, inputs)


def _task_changed(call: Call, inputs: Inputs) -> Iterator[Part]:
    response = call.response if isinstance(call.response, dict) else {}
    change = response.get("statusChange")
    if isinstance(change, dict):
        yield _tasks(
            [
                {
                    "content": f"task {inputs.get('taskId')}: {change.get('from')} → {change.get('to')}",
                    "status": change.get("to"),
                }
            ]
        )
    elif response.get("error"):
        yield from _output(call, inputs)


def _planned(call: Call, inputs: Inputs) -> Iterator[Part]:
    response = call.response if isinstance(call.response, dict) else {}
    plan = response.get("plan")
    if isinstance(plan, str) and plan != inputs.get("plan"):
        yield about("The plan as it was accepted:")
        yield words(plan, "markdown", "output")


RESULTS: dict[str, Callable[[Call, Inputs], Iterator[Part]]] = {
    "TodoWrite": _nothing,
    "AskUserQuestion": _nothing,
    "TaskCreate": _nothing,
    "TaskUpdate": _task_changed,
    "TaskList": _listed,
    "TaskGet": _listed,
    "ExitPlanMode": _planned,
    "WebFetch": _fetched,
    "WebSearch": _searched,
}
