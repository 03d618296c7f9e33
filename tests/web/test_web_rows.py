"""What hooks and the transcript both tell is one row, with what only one of them knows."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sessionlog.archive import place as projects
from sessionlog.ask.search import labels
from sessionlog.transcripts import importer
from sessionlog.web import hit_html
from tests.helpers.archives import event, store
from tests.helpers.transcript_lines import START, Transcript
from tests.web.browsing import Serve
from tests.web.test_web_session import get, path_of

USAGE = {"input_tokens": 200, "cache_read_input_tokens": 41_800, "output_tokens": 512}


def test_an_error_of_the_api_is_one_row_and_an_answer_says_its_tokens(home: Path, serve: Serve, project: Path) -> None:
    place = projects.place(os.path.realpath(project))
    file = Transcript("s1", cwd=place.project)
    file.user("Make it blue")
    file.answer("It is blue.", usage=USAGE)
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
    _, body, _ = get(serve(), path_of(place))
    timeline = body.partition('id="timeline"')[2]
    assert timeline.count("529 Overloaded") == 1
    assert len(re.findall(r'<article class="entry kind-failure', timeline)) == 1
    assert timeline.count("It is blue.") == 1
    assert re.search("context 42.*512 tokens out", timeline), re.findall(".*tokens out.*", timeline)


def test_kinds_to_choose_from_have_names_of_their_own() -> None:
    kinds = [*labels.EVENTS, *labels.PARTS, *hit_html._KINDS, "thinking"]
    named = {kind: hit_html.label(kind) for kind in kinds}
    assert len(set(named.values())) == len(named), sorted(named.values())
