"""The filter by agent in lists, search and audits."""

from __future__ import annotations

import json

from sessionlog.archive.place import Place
from tests.agents.test_client_filter import sessions_in
from tests.helpers.archives import two_agents
from tests.web.browsing import Serve, urlopen


def test_pages(place: Place, serve: Serve) -> None:
    two_agents(place)
    address = serve()

    def page(path: str) -> str:
        with urlopen(f"{address}{path}") as answer:
            text: str = answer.read().decode()
            return text

    assert sessions_in(page("-/sessions")) == {"claude1", "codex1"} and 'name="client"' in page("-/sessions")
    assert sessions_in(page("-/sessions?client=codex")) == {"codex1"}
    assert sessions_in(page("-/search?q=tidy&client=codex")) == {"codex1"}
    assert "client=claude-code" in page("-/search?q=tidy&client=codex")  # the other one can be chosen
    rows = json.loads(page("-/audits/dangerous-commands.json?client=codex"))
    assert [row["client"] for row in rows] == ["codex"]
    assert sessions_in(page("-/audits/dangerous-commands.csv?client=codex")) == {"codex1"}
    assert json.loads(page("-/audits/counts?client=claude-code"))["dangerous-commands"]["rows"] == 3
    assert 'name="client"' in page("-/audits") and ">codex<" in page("-/audits/dangerous-commands")
