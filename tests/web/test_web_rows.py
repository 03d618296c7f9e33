"""What hooks and the transcript both tell is one row, with what only one of them knows."""

from __future__ import annotations

import os
import re
from pathlib import Path

from playwright.sync_api import expect

from sessionlog.archive import notes
from sessionlog.archive import place as projects
from sessionlog.archive.place import Place
from sessionlog.ask.search import labels
from sessionlog.transcripts import importer
from sessionlog.web import hit_html
from tests.helpers.archives import event, store
from tests.helpers.transcript_lines import START, Transcript, said
from tests.web.browsing import Open, Serve
from tests.web.test_web_session import get, path_of

USAGE = {"input_tokens": 200, "cache_read_input_tokens": 41_800, "output_tokens": 512}


def test_what_is_told_twice_is_one_row_and_one_hit(home: Path, serve: Serve, project: Path) -> None:
    place = projects.place(os.path.realpath(project))
    file = Transcript("s1", cwd=place.project)
    file.user("Make it blue")
    file.answer("It is blue.", usage=USAGE)
    file.result(file.call("Bash", {"command": "git push"}), said("open a branch first"), is_error=True)
    file.result(file.call("Bash", {"command": "make red"}), "<tool_use_error>no such target</tool_use_error>", True)
    file.user("And red")
    file.answer("API Error: 529 Overloaded", model="<synthetic>", isApiErrorMessage=True)
    file.write(home)
    at_ms = int(START.timestamp() * 1000)
    words = {"error": "overloaded", "last_assistant_message": "API Error: 529 Overloaded"}
    for second, one in enumerate(
        (
            event("UserPromptSubmit", prompt="Make it blue"),
            event("Stop", last_assistant_message="It is blue."),
            event("UserPromptSubmit", prompt="And red"),
            event("StopFailure", **words),
        ),
        1,
    ):
        store(place, one | {"cwd": place.project}, start_ms=at_ms + 1000 * second)
    importer.run()
    address = serve()
    _, body, _ = get(address, path_of(place))
    timeline = body.partition('id="timeline"')[2]
    assert timeline.count("529 Overloaded") == 1
    assert len(re.findall(r'<article class="entry kind-failure', timeline)) == 1
    assert timeline.count("It is blue.") == 1
    assert re.search("context 42.*512 tokens out", timeline), re.findall(".*tokens out.*", timeline)
    # A denial is one row, with what the person said; the search finds it.
    assert len(re.findall(r'<details class="call is-refused', timeline)) == 1
    assert '<div class="words">open a branch first</div>' in timeline and "Denied, with these words:" in timeline
    assert timeline.count("open a branch first") == 1
    assert "tool_use_error" not in timeline and "NOT written" not in timeline
    for question, hits in (("q=blue&role=assistant", 1), ("q=branch", 1), ("failed=1&tool=Bash", 1)):
        _, found, _ = get(address, f"/-/search?{question}")
        assert len(re.findall(r'class="hit\b', found)) == hits, question
    # What only the transcript knows has its tool, its command and its error, without the tags of the client.
    (moment,) = re.findall(r'<details class="call is-failed" id="(m\d+)"', timeline)
    notes.change(place, "s1", moment, pinned=True)
    _, home_page, _ = get(address, "/")
    assert "make red" in home_page and "{&#34;command" not in home_page
    assert "make red" in found and "no such target" in found and "tool_use_error" not in found


def test_a_command_and_its_output_are_one_row(home: Path, serve: Serve, project: Path, visit: Open) -> None:
    place = projects.place(os.path.realpath(project))
    file = Transcript("s1", cwd=place.project)
    file.user("<bash-input>ls -la</bash-input>")
    file.user("<bash-stdout>cart.py</bash-stdout><bash-stderr></bash-stderr>")
    file.user("<command-name>/cost</command-name>\n<command-args></command-args>")
    file.user("<local-command-stdout>Total: 4 dollars</local-command-stdout>")
    file.user("<bash-input>false</bash-input>")
    file.user("Stop")
    file.user("<bash-stdout>nobody asked for this</bash-stdout>")
    file.write(home)
    importer.run()
    address = serve()
    page = visit(f"{address}{path_of(place)[1:]}?at=m2#m2")
    rows = page.locator("#timeline .kind-command")
    expect(rows.locator(".argument")).to_have_text(["! ls -la", "/cost", "! false", "nobody asked for this"])
    # A link to the output is one to its command.
    expect(rows.first).to_have_class(re.compile("target"))
    expect(rows.first.locator("pre")).to_have_text(["$ ls -la", "cart.py"])
    # As lines and in exports nothing is missing.
    _, exported, _ = get(address, f"{path_of(place)}/export.md")
    for words in ("ls -la", "cart.py", "Total: 4 dollars", "nobody asked for this"):
        assert exported.count(words) == 1, words


def test_reasons_are_in_peoples_words(place: Place, serve: Serve, visit: Open) -> None:
    store(
        place,
        event("UserPromptSubmit", prompt="Go"),
        event("Notification", message="Claude waits", notification_type="idle_prompt"),
        event("PreCompact", trigger="auto"),
        event("SupervisorDecision", message="Run the tests", decision="block", iteration=2, reviewer="./review.sh"),
        event("SessionEnd", reason="prompt_input_exit"),
    )
    page = visit(f"{serve()}{path_of(place)[1:]}")
    for words in ("waits for you", "automatic", "review 2, by ./review.sh", "left at the prompt"):
        expect(page.locator("#timeline")).to_contain_text(words)
    # The head has no zeros.
    expect(page.locator(".facts li").nth(1)).to_have_text("1 prompt")
    expect(page.locator(".facts li").nth(2)).to_have_text("1 compaction")
    assert not re.search(r"\b0 (prompt|tool|edit)|None|_", page.locator("main").inner_text())


def test_what_took_no_time_says_nothing_of_it(place: Place, serve: Serve) -> None:
    store(place, event("UserPromptSubmit", prompt="Go"))
    _, body, _ = get(serve(), path_of(place))
    head = body.partition('class="facts"')[2].partition("</ul>")[0]
    assert "1 prompt" in head and "0 ms" not in head


def test_kinds_to_choose_from_have_names_of_their_own() -> None:
    kinds = [*labels.EVENTS, *labels.PARTS, *hit_html._KINDS, "thinking"]
    named = {kind: hit_html.label(kind) for kind in kinds}
    assert len(set(named.values())) == len(named), sorted(named.values())
