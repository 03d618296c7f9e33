"""The filter by agent in lists, search and audits."""

from __future__ import annotations

import html
import json
import re
from contextlib import closing

from sessionlog.archive import read
from sessionlog.archive.place import Place
from sessionlog.ask import audit
from sessionlog.web import audits
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
    # The SQL that is opened in Datasette finds what the page shows.
    link = re.search(r'href="([^"]+)">Edit the SQL', page("-/audits/dangerous-commands?client=codex"))
    assert link and link[1].endswith("&amp;client=codex")
    asked = page(html.unescape(link[1]).lstrip("/").replace("?", ".json?_shape=array&"))
    assert [row["session_id"] for row in json.loads(asked)] == ["codex1"]
    with closing(read.connect(place)) as connection:
        for query in audit.audits().values():
            narrowed = query._replace(sql=audits.of_one_client(query.sql).replace(":client", "'codex'"))
            wanted = audit.ask_all([place], query, client="codex")
            got = audit.ask(connection, narrowed)
            assert got == [{name: row[name] for name in row if name in got[0]} for row in wanted] if got else not wanted
    assert 'name="client"' in page("-/audits") and ">codex<" in page("-/audits/dangerous-commands")
