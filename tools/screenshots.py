"""Pictures of every page for the README and docs/pages.md: light and dark, desktop and phone, from a made-up year.

python tools/screenshots.py            # needs Chromium, and Noto's CJK fonts for the Chinese text
python tools/screenshots.py search     # the pictures of one page
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Page as Tab

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PICTURES = ROOT / "docs" / "pages"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


class Page(NamedTuple):
    """A page, where it is, and what is done before the picture."""

    name: str
    title: str
    path: str
    prepare: Callable[[Tab], None] = lambda tab: None


def palette(tab: Tab) -> None:
    """Open the command palette, and type."""
    tab.get_by_role("button", name="go to").click()
    tab.keyboard.type("sett")
    tab.get_by_text("Search for “sett”").wait_for()


def further(tab: Tab) -> None:
    """On to a picture, a denial and a sub-agent, opened."""
    row = tab.locator(".call", has_text="shots/settings.png")
    row.locator("summary").click()
    tab.locator("details.agent").last.locator("summary").first.click()
    tab.wait_for_load_state("networkidle")
    row.evaluate("row => scrollBy({ top: row.getBoundingClientRect().top - 160, behavior: 'instant' })")
    tab.wait_for_timeout(300)


def pages(database: str, session: str) -> list[Page]:
    of_session = f"/-/session/{database}/{session}"
    return [
        Page("session", "A session", of_session),
        Page("session-further", "A picture, a denial and a sub-agent in a session", of_session, further),
        Page("changes", "What a session changed", f"{of_session}/files"),
        Page("home", "Home", "/"),
        Page("palette", "The command palette", "/", palette),
        Page("sessions", "Sessions", "/-/sessions"),
        Page("search", "Search", "/-/search?q=theme"),
        Page("failed", "What failed last week, and why", "/-/search?failed=1&since=7d"),
        Page("files", "A file", f"/-/files?project={database}&path=/home/dev/shop/src/settings.tsx"),
        Page("dashboard", "Dashboard", "/-/dashboard?since=365d"),
        Page("audits", "Audits", "/-/audits"),
        Page("audit", "An audit", "/-/audits/failures"),
        Page("tables", "A table, by Datasette", f"/{database}/bash_commands"),
    ]


def picture(browser: Browser, address: str, page: Page, dark: bool, phone: bool) -> None:
    context = browser.new_context(
        color_scheme="dark" if dark else "light",
        viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 860},
        is_mobile=phone,
    )
    tab = context.new_page()
    tab.goto(address + page.path)
    tab.wait_for_load_state("networkidle")
    tab.get_by_text("Looking …").wait_for(state="hidden")
    page.prepare(tab)
    kind = f"{'phone-' if phone else ''}{'dark' if dark else 'light'}"
    tab.screenshot(path=PICTURES / f"{page.name}-{kind}.png")
    context.close()


def document(shown: list[Page]) -> str:
    """docs/pages.md: all pictures."""
    parts = ["# The pages of `sessionlog browse`\n\nMade by `python tools/screenshots.py` from a made-up year.\n"]
    for name, title, *_ in shown:
        kinds = ("light", "dark", "phone-light", "phone-dark")
        texts = (f"{title}, light", f"{title}, dark", f"{title} on a phone", f"{title} on a phone, dark")
        cells = " | ".join(f"![{text}](pages/{name}-{kind}.png)" for text, kind in zip(texts, kinds, strict=True))
        parts.append(f"## {title}\n\n| Light | Dark | Phone | Phone, dark |\n|---|---|---|---|\n| {cells} |\n")
    return "\n".join(parts)


def main() -> None:
    from tools.sample_year import fill

    with tempfile.TemporaryDirectory() as home:
        os.environ["SESSIONLOG_HOME"] = home
        shown = pages(*fill(home))
        wanted = [page for page in shown if not sys.argv[1:] or page.name in sys.argv[1:]]
        PICTURES.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "sessionlog", "browse", "--no-open", "--no-token", "--port", "0"]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,  # noqa: S603 (our own)
            sync_playwright() as playwright,
        ):
            found = re.search(r"http://\S+\d", server.stdout.readline() if server.stdout else "")
            if not found:
                raise SystemExit("the server did not start")
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
            warm = browser.new_page()
            for page in wanted:  # the first answer may be about an index or a count that is being made
                warm.goto(found[0] + page.path)
                warm.wait_for_timeout(1500)
            for page in wanted:
                for dark in (False, True):
                    for phone in (False, True):
                        picture(browser, found[0], page, dark, phone)
            browser.close()
            server.terminate()
    (ROOT / "docs" / "pages.md").write_text(document(shown), encoding="utf-8")


if __name__ == "__main__":
    main()
