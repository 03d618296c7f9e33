"""A long session in a real browser: nodes, memory and milliseconds a step, from its first entry to its last."""

import shutil
import time
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from bench import report
from bench.processes import tree_memory
from bench.report import milliseconds

SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
# The limits: nodes of the document at any time, seconds for a step of 99 in 100, bytes of the tab in the end.
NODES, STEP, MEMORY = 5_000, 0.05, 250_000_000
# A key that is held down repeats so often (a second).
REPEAT = 30

# Goes so many steps as fast as a key that is held down repeats. A step is over when what it went to has the focus and
# the page is laid out.
_WALK = """async ([key, steps, every]) => {
  const times = [];
  let most = 0;
  let same = 0;
  let before = null;
  for (let step = 0; step < steps && same < 3; step += 1) {
    const begun = performance.now();
    await window.sessionlogKeys[key]();
    document.body.getBoundingClientRect();
    const took = performance.now() - begun;
    times.push(took);
    const walker = document.createTreeWalker(document);
    let nodes = 1;
    while (walker.nextNode()) nodes += 1;
    most = Math.max(most, nodes);
    same = document.activeElement === before ? same + 1 : 0;
    before = document.activeElement;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, every - (performance.now() - begun))));
  }
  return { times, most, ended: same >= 3 };
}"""


class Walk(NamedTuple):
    """A walk through the session: what each step took (s), the most nodes, and whether the end was reached."""

    times: list[float]
    nodes: int
    ended: bool


class Tab(NamedTuple):
    """What a session costs in a tab."""

    there: Walk
    back: Walk
    script_memory: float
    memory_before: int
    memory_after: int

    @property
    def keeps_limits(self) -> bool:
        late = max(report.percentile(walk.times, 0.99) for walk in (self.there, self.back))
        nodes = max(self.there.nodes, self.back.nodes)
        return late <= STEP and nodes <= NODES and self.memory_after <= MEMORY


def measure(address: str, steps: int) -> Tab | None:
    """Walk through the session at this address; None where there is no Chromium."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=SWITCHES)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(3_600_000)
        page.goto(address)
        page.wait_for_selector(".block")
        time.sleep(1)
        before = _memory(browser)
        there = _walk(page, "j", steps)
        back = _walk(page, "k", min(steps, 500))
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        script: Any = page.evaluate("performance.memory.usedJSHeapSize")
        after = _memory(browser)
        browser.close()
    return Tab(there, back, float(script), before, after)


def as_text(tab: Tab | None, entries: int) -> str:
    """A paragraph for the report."""
    if tab is None:
        return "There is no Chromium here: the tab was not measured."
    lines = [
        f"The session of {entries:,} events in Chromium, a key held down ({REPEAT} steps a second), from its first "
        f"entry{' to the last' if tab.there.ended else f' for {len(tab.there.times):,} steps'}, and back:"
    ]
    rows = [
        [name, f"{len(walk.times):,}", *(milliseconds(report.percentile(walk.times, share)) for share in (0.5, 0.99)),
         milliseconds(max(walk.times)), f"{walk.nodes:,}"]
        for name, walk in (("`j`, forwards", tab.there), ("`k`, backwards", tab.back))
    ]  # fmt: skip
    lines.append(report.table(["key", "steps", "p50", "p99", "worst", "most nodes"], rows))
    verdict = "Both keep" if tab.keeps_limits else "MISSED:"
    lines.append(
        f"{verdict} the limits of {milliseconds(STEP)} for a step (p99), {NODES:,} nodes and {MEMORY / 1e6:.0f} MB. "
        f"Memory of the tab: "
        f"{tab.memory_before / 1e6:.0f} MB at first, {tab.memory_after / 1e6:.0f} MB in the end, of which scripts have "
        f"{tab.script_memory / 1e6:.1f} MB."
    )
    return "\n\n".join(lines)


def _walk(page: Page, key: str, steps: int) -> Walk:
    found = page.evaluate(_WALK, [key, steps, 1000 / REPEAT])
    return Walk([took / 1000 for took in found["times"]], found["most"], found["ended"])


def _memory(browser: Browser) -> int:
    """Of the process that has the page."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max((tree_memory(one["id"]) for one in processes if one["type"] == "renderer"), default=0)
