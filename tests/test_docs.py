"""The documentation is true as far as a machine can tell: links lead somewhere, commands and queries work."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sessionlog.archive import place as projects
from sessionlog.cli.main import COMMANDS
from tests.cli.test_reference import ABOVE, command_named
from tests.conftest import PAYLOAD_FILES, ROOT, Hook

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())

OPERATORS = ("&&", "|", "<", ">")

# Words that a reader has to guess at, where a plain term exists.
RIDDLES = ("whoever", "whatever", "is told", "are told", "comes home", "come home", "by right", "twice is once", "anew")


@cache
def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path, language: str) -> list[str]:
    return [token.content for token in tokens(page) if token.type == "fence" and token.info == language]


def targets(page: Path) -> Iterator[str]:
    """Where links and pictures of a page point to, those in HTML included."""
    for token in tokens(page):
        for part in (token, *(token.children or ())):
            yield from (str(part.attrs[name]) for name in ("href", "src") if name in part.attrs)
            if part.type in ("html_block", "html_inline"):
                yield from re.findall(r'(?:href|src|srcset)="([^"]*)"', part.content)


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    found: list[str] = []
    for heading, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if heading.type == "heading_open":
            text = "".join(part.content for part in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return set(found)


@each_page
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in targets(page):
        path, _, anchor = target.partition("#")
        if path.startswith(("https://", "http://")):
            continue
        aim = (page.parent / path) if path else page
        if not aim.exists() or (anchor and anchor not in anchors(aim)):
            broken.append(target)
    assert not broken


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, waiting = set(), {ROOT / "README.md"}
    while waiting:
        page = waiting.pop()
        seen.add(page)
        linked = {(page.parent / target.partition("#")[0]).resolve() for target in targets(page) if "://" not in target}
        waiting |= {aim for aim in linked if aim.suffix == ".md"} - seen
    assert set(PAGES) <= seen


def test_the_readme_is_short_and_says_how_long_the_tests_take() -> None:
    text = (ROOT / "README.md").read_bytes()
    assert len(text) < 15_000
    assert re.search(rb"about \d+ minutes on two cores", text)


def test_the_queries_run(hook: Hook, place: projects.Place) -> None:
    for path in PAYLOAD_FILES:
        hook(path.read_bytes())
    queries = [(query, {}) for page in PAGES for block in blocks(page, "sql") for query in block.split(";")]
    for page in PAGES:
        for name, arguments in typed(page):
            if name == "sql" and "--all" not in arguments:
                given = command_named(name).make_context(name, arguments, parent=ABOVE).params
                queries.append((given["query"].removeprefix("-"), dict(given["parameters"])))
    assert len(queries) >= 10
    with closing(sqlite3.connect(place.db)) as connection:
        for query, parameters in queries:
            connection.execute(query, parameters).fetchall()


def typed(page: Path) -> Iterator[tuple[str, list[str]]]:
    """The commands of sessionlog in the shell blocks of a page: their names and arguments."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            inner = re.findall(r"[$<]\(([^)]*)\)", line)
            for command in (*inner, re.sub(r"[$<]\([^)]*\)", "SUBSTITUTED", line)):
                words = shlex.split(command, comments=True)
                while words:
                    end = next((index for index, word in enumerate(words) if word in OPERATORS), len(words))
                    first, words = words[:end], words[end + 1 :]
                    # `sessionlog` alone opens the picker.
                    if len(first) > 1 and first[0].rpartition("/")[2] == "sessionlog":
                        yield first[1], first[2:]


@each_page
def test_the_commands_can_be_typed(page: Path) -> None:
    for name, arguments in typed(page):
        with command_named(name).make_context(name, arguments, parent=ABOVE):  # a usage error is raised here
            pass


def test_every_command_is_explained_in_a_guide() -> None:
    guides = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.name not in ("cli.md", "CHANGELOG.md"))
    assert [name for name in COMMANDS if not re.search(rf"sessionlog {name}\b", guides)] == ["supervise"]  # a hook


@each_page
def test_json_is_json(page: Path) -> None:
    for block in blocks(page, "json"):
        json.loads(block)


def test_every_environment_variable_is_documented() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "sessionlog").rglob("*.py"))
    names = set(re.findall(r"\bSESSIONLOG_[A-Z_]+[A-Z]\b", sources))
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert names
    assert {name for name in names if f"`{name}`" not in text} == set()


@each_page
def test_plain_words(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    # Generated text comes from elsewhere: help texts, descriptions, benches.
    written = "" if page.name == "cli.md" else re.sub(r"<!-- (\w+) -->.*<!-- /\1 -->", "", text, flags=re.S).lower()
    assert [riddle for riddle in RIDDLES if re.search(rf"\b{riddle}\b", written)] == []


def test_the_files_to_change_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where do I change")[2]
    lines = [line.split("|")[2] for line in text.partition("\n## ")[0].splitlines() if line.count("|") == 4]
    paths = {path for line in lines for path in re.findall(r"`(\w[\w/]*/[\w.]*)`", line)}
    assert len(paths) >= 10
    assert {path for path in paths if not (ROOT / "sessionlog" / path).exists()} == set()


def test_the_architecture_names_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "sessionlog").glob("*/__init__.py")}
    assert {name for name in packages if f"| `{name}/" not in text or f'"{name}: ' not in text} == set()
