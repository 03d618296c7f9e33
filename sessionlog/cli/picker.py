"""`sessionlog` without arguments: a full-screen list of sessions to search, look into, show, resume or export."""

from __future__ import annotations

import asyncio
import base64
import os
import sqlite3
from contextlib import closing, suppress
from itertools import islice
from typing import Any, NamedTuple

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, ConditionalContainer, FormattedTextControl, HSplit, Layout, VSplit
from prompt_toolkit.layout.containers import Window
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from sessionlog.archive import lookup, notes, read
from sessionlog.archive.place import Place
from sessionlog.ask.rollup import sessions, stats
from sessionlog.ask.search import find as search
from sessionlog.ask.search.partial import Partial
from sessionlog.cli import counting, table, terminal
from sessionlog.cli.session_view import View
from sessionlog.errors import SessionlogError
from sessionlog.session import header, live, load
from sessionlog.text import plain

LISTED = 5000  # more than that nobody scrolls through; typing finds the others
PREVIEWED = 400  # lines
HITS = 500  # of the full-text search, of which many may be in one session
WAIT = 0.15  # seconds after a key before the archives are searched
NARROW = 90  # columns, below which there is no room for the preview

UNCOUNTED = "Not all events are counted yet: older sessions have no first prompt here."

STYLE = Style.from_dict(
    {
        "id": "ansiyellow",
        "failed": "ansired",
        "live": "ansigreen",
        "project": "ansicyan",
        "chosen": "reverse",
        "quiet": "ansibrightblack",
        "bar": "reverse",
    }
)
# From the most to the least important: what does not fit is left out from the end on.
KEYS = ("Enter show", "Esc quit", "^R resume", "Tab {}", "^O browser", "^E export", "^Y copy", "⇧↓ scroll")
# The longest name of a project in the list.
PROJECT = 16


class Picked(NamedTuple):
    """What to do with which session."""

    action: str  # show, resume, browse, export
    found: lookup.FoundSession


class Listed(NamedTuple):
    """A session of the list, and the text that typing is compared with."""

    place: Place
    row: dict[str, Any]
    text: str


class Picker:
    """The list, what was typed, and which session is chosen."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.everywhere = not os.path.exists(place.db)
        self.all: list[Listed] = []
        self.shown: list[Listed] = []
        self.chosen = self.scrolled = 0
        self.widths: tuple[int, int] = (0, 0)
        self.message = ""
        self.previews: dict[tuple[str, str], StyleAndTextTuples] = {}
        self.typed = Buffer(multiline=False, on_text_changed=lambda _: self._typed())
        self.app: Application[Picked | None] = Application(
            layout=self._layout(),
            key_bindings=self._keys(),
            style=STYLE,
            full_screen=True,
            color_depth=ColorDepth.MONOCHROME if terminal.wants_colour() is False else None,
        )
        self._load()

    def run(self) -> Picked | None:
        """What the person chose; None if nothing."""
        return self.app.run()

    # --- What is listed -----------------------------------------------------------------------------------------------

    def _load(self) -> None:
        places = read.all_places() if self.everywhere else [self.place]
        found = [place for place in places if os.path.exists(place.db)]
        by_name = {place.name: place for place in found}
        without_waiting = counting.WithoutWaiting()
        with stats.Counted(found, connect=without_waiting.connect) as counted:
            sources = [sessions.Source(place.name, connection) for place, connection in counted.connections]
            rows = sessions.page(sources, sessions.Filters(), sessions.Order(), None, LISTED).rows
        annotated = {place.name: _annotations(place) for place in found}
        self.all = [
            _listed(by_name[row["project"]], row, annotated[row["project"]].get(row["session_id"], "")) for row in rows
        ]
        self._filter(set())
        self.message = UNCOUNTED if without_waiting.count_the_rest() else ""

    def _typed(self) -> None:
        """Filter the list at once, and by a search of the archives a moment later."""
        self._filter(set())
        if self.typed.text.strip():
            self.app.create_background_task(self._search(self.typed.text))

    async def _search(self, text: str) -> None:
        await asyncio.sleep(WAIT)
        if text == self.typed.text:
            found = await asyncio.to_thread(self._sessions_with, text)
            if text == self.typed.text:
                self._filter(found)
                self.app.invalidate()

    def _sessions_with(self, text: str) -> set[str]:
        ids: set[str] = set()
        partial = Partial()
        for place in {listed.place for listed in self.all}:
            # Half a query may be none, and an archive may be busy: then the list is filtered by its own words alone.
            with suppress(SessionlogError, sqlite3.Error, OSError):
                hits = search.find(place, text, partial=partial, seconds=2)
                ids.update(hit.row["session_id"] for hit in islice(hits, HITS))
        partial.index_the_rest()
        self.message = " ".join(partial.sentences("type on later to search all of it"))
        return ids

    def _filter(self, found: set[str]) -> None:
        words = self.typed.text.lower().split()
        self.shown = [
            listed
            for listed in self.all
            if all(word in listed.text for word in words) or listed.row["session_id"] in found
        ]
        self.chosen = min(self.chosen, max(len(self.shown) - 1, 0))
        self.scrolled = 0
        failed = max((len(_failures(listed)) for listed in self.shown), default=0)
        projects = (table.display_width(_project(listed)) for listed in self.shown) if self.everywhere else ()
        self.widths = failed, max(projects, default=0)

    # --- How it looks -------------------------------------------------------------------------------------------------

    def _layout(self) -> Layout:
        typed = Window(BufferControl(self.typed, input_processors=[BeforeInput("Search: ", "class:quiet")]), height=1)
        count = Window(FormattedTextControl(self._count), height=1, dont_extend_width=True, style="class:quiet")
        listed = Window(
            FormattedTextControl(self._list, get_cursor_position=lambda: Point(0, self.chosen)), width=self._width
        )
        preview = ConditionalContainer(
            VSplit(
                [
                    Window(width=1, char="│", style="class:quiet"),
                    Window(FormattedTextControl(self._preview), get_vertical_scroll=lambda _: self.scrolled),
                ]
            ),
            Condition(lambda: self.app.output.get_size().columns >= NARROW),
        )
        bar = Window(FormattedTextControl(lambda: f" {self.message or self._help()}"), height=1, style="class:bar")
        rule = Window(height=1, char="─", style="class:quiet")
        above = VSplit([typed, count])
        return Layout(HSplit([above, rule, VSplit([listed, preview]), bar]), focused_element=typed)

    def _width(self) -> int:
        """The columns of the list."""
        columns = self.app.output.get_size().columns
        return columns if columns < NARROW else (columns - 1) // 2

    def _count(self) -> str:
        which = "all projects" if self.everywhere else os.path.basename(self.place.project)
        found = f"{len(self.shown):,} of {len(self.all):,}" if self.typed.text else f"{len(self.all):,}"
        return plain.one_line(f" {found} in {which}", 40)

    def _help(self) -> str:
        """As many keys as fit."""
        line = ""
        for key in KEYS:
            longer = f"{line} · {key}" if line else key
            longer = longer.format("this project" if self.everywhere else "all projects")
            if len(longer) < self.app.output.get_size().columns:
                line = longer
        return line

    def _list(self) -> StyleAndTextTuples:
        if not self.shown:
            return [("class:quiet", "No sessions match." if self.all else _nothing(self.place))]
        fragments: StyleAndTextTuples = []
        for number, listed in enumerate(self.shown):
            fragments += _line(listed, self._width(), self.widths, number == self.chosen)
        return fragments

    def _preview(self) -> StyleAndTextTuples:
        if not self.shown:
            return []
        listed = self.shown[self.chosen]
        key = (listed.place.db, listed.row["session_id"])
        if key not in self.previews:
            self.previews[key] = []
            self.app.create_background_task(self._read_preview(listed))
        return self.previews[key]

    async def _read_preview(self, listed: Listed) -> None:
        width = (self.app.output.get_size().columns - 1) // 2
        self.previews[listed.place.db, listed.row["session_id"]] = await asyncio.to_thread(preview, listed, width)
        self.app.invalidate()

    # --- Keys ---------------------------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        for name, lines, screens in (
            *(("up", -1, 0), ("c-p", -1, 0), ("down", 1, 0), ("c-n", 1, 0)),
            *(("pageup", 0, -1), ("pagedown", 0, 1)),
        ):
            keys.add(name)(lambda _, lines=lines, screens=screens: self._move(lines + screens * self._screen()))
        for name, action in (("enter", "show"), ("c-r", "resume"), ("c-o", "browse"), ("c-e", "export")):
            keys.add(name)(lambda event, action=action: self._pick(event, action))
        for name, lines in (("s-up", -3), ("s-down", 3)):
            keys.add(name)(lambda _, lines=lines: self._scroll(lines))
        keys.add("c-y")(lambda _: self._copy())
        keys.add("tab")(lambda _: self._switch())
        for name in ("escape", "c-d"):
            keys.add(name, eager=name == "escape")(lambda event: event.app.exit(result=None))
        keys.add("c-c")(lambda event: event.app.exit(exception=KeyboardInterrupt))  # ends with 130, as elsewhere
        return keys

    def _screen(self) -> int:
        """How many sessions fit the screen."""
        return max(self.app.output.get_size().rows - 3, 1)

    def _move(self, step: int) -> None:
        self.message = ""
        self.scrolled = 0
        self.chosen = max(0, min(self.chosen + step, len(self.shown) - 1))

    def _scroll(self, lines: int) -> None:
        """Move the preview; the last lines stay in sight."""
        longest = sum(text.count("\n") for _, text, *_ in self._preview())
        self.scrolled = max(0, min(self.scrolled + lines, longest - 3))

    def _pick(self, event: KeyPressEvent, action: str) -> None:
        if self.shown:
            listed = self.shown[self.chosen]
            event.app.exit(result=Picked(action, lookup.find_session([listed.place], listed.row["session_id"])))

    def _copy(self) -> None:
        """Let the terminal put the id into the clipboard (OSC 52), also through ssh."""
        if self.shown:
            session_id = self.shown[self.chosen].row["session_id"]
            self.app.output.write_raw(f"\x1b]52;c;{base64.b64encode(session_id.encode()).decode()}\x07")
            self.message = f"Copied {plain.safe(session_id)}"

    def _switch(self) -> None:
        self.everywhere = not self.everywhere
        self.chosen = 0
        self._load()


def preview(listed: Listed, width: int | None = None) -> StyleAndTextTuples:
    """The beginning of a session as `show` prints it."""
    try:
        with closing(read.connect(listed.place)) as connection:
            found = lookup.find_session([listed.place], listed.row["session_id"])
            about = header.load(connection, found.session, listed.place.project)
            annotations = notes.of_session(listed.place, listed.row["session_id"])
            entries = load.entries(connection, listed.row["session_id"])
            lines = View(width=width).session(about, entries, annotations=annotations)
            return to_formatted_text(ANSI("\n".join(islice(lines, PREVIEWED))))
    except (SessionlogError, sqlite3.Error, OSError) as error:
        return [("class:failed", plain.safe(str(error)))]


def _annotations(place: Place) -> dict[str, str]:
    """The tags and notes of each session, which typing finds too."""
    found: dict[str, str] = {}
    with suppress(SessionlogError):  # a file that somebody broke; `show` and `tag` say so
        for one in notes.load(place).values():
            found[one.session] = " ".join((found.get(one.session, ""), *one.tags, one.note))
    return found


def _listed(place: Place, row: dict[str, Any], annotations: str) -> Listed:
    project = os.path.basename(place.project)
    texts = (row["title"], row["first_prompt"], row["session_id"], row["git_branch"], project, annotations)
    return Listed(place, row, " ".join(text for text in texts if text).lower())


def _nothing(place: Place) -> str:
    text = str(read.nothing_recorded([place])).replace("add --all", "press Tab")
    return text[:1].upper() + text[1:]


def _failures(listed: Listed) -> str:
    return f"✗{listed.row['failures']}" if listed.row["failures"] else ""


def _project(listed: Listed) -> str:
    return plain.one_line(os.path.basename(listed.place.project), PROJECT)


def _line(listed: Listed, width: int, widths: tuple[int, int], is_chosen: bool) -> StyleAndTextTuples:
    """A session; columns as wide as in all lines."""
    row, (failed, project) = listed.row, widths
    parts = [("class:quiet", plain.local_time(row["started_at"], "%m-%d %H:%M ")), ("class:id", row["session_id"][:6])]
    if project:
        parts.append(("class:project", f" {table.pad(_project(listed), project)}"))
    if failed:
        parts.append(("class:failed", f" {_failures(listed):>{failed}}"))
    if live.is_live(row):
        parts.append(("class:live", " live"))
    used = sum(table.display_width(text) for _, text in parts)
    room = max(width - used - 2, 8)
    parts.append(("", f" {table.pad(plain.one_line(row['title'] or row['first_prompt'] or '', room), room)}\n"))
    # The colours of its parts would turn into blocks of background.
    return [("class:chosen" if is_chosen else style, plain.safe(text)) for style, text in parts]
