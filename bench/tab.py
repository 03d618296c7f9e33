"""A long session in a real browser: nodes, memory and milliseconds a step, from its first entry to its last."""

import shutil
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from bench import report
from bench.processes import tree_memory
from bench.report import milliseconds

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# A step is measured until its frame is drawn: without a limit, it does not wait for the screen.
SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"),
    *("--disable-frame-rate-limit", "--disable-gpu-vsync"),
]
# The limits: nodes of the document at any time, seconds for 999 of 1,000 steps, bytes of the tab in the end.
NODES, STEP, MEMORY = 5_000, 0.05, 250_000_000
# Steps a second: three times as often as a key repeats that is held down.
PACE = 90
# Steps between two lines of progress; steps back; steps whose tasks are measured one by one.
CHUNK, BACK, TRACED = 2_000, 500, 500

# A step is over when what it went to has the focus and the frame is drawn.
_WALK = """async ([key, steps, every]) => {
  const channel = new MessageChannel();
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
  }));
  const times = [];
  let most = 0;
  let same = 0;
  let before = null;
  for (let step = 0; step < steps && same < 3; step += 1) {
    const begun = performance.now();
    await window.sessionlogKeys[key]();
    await drawn();
    times.push(performance.now() - begun);
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
    tasks: list[float]  # processor time (s) of what the page did without a pause, in some steps
    script_memory: float
    memory_before: int
    memory_after: int

    @property
    def keeps_limits(self) -> bool:
        late = max(report.percentile(walk.times, 0.999) for walk in (self.there, self.back))
        nodes = max(self.there.nodes, self.back.nodes)
        return late <= STEP and nodes <= NODES and self.memory_after <= MEMORY


def measure(address: str, steps: int) -> Tab | None:
    """Walk through the session at this address; None where there is no Chromium."""
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=SWITCHES)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.wait_for_selector(".block")
        time.sleep(1)
        before = _memory(browser)
        there = _walk(page, "j", steps)
        back = _walk(page, "k", min(steps, BACK))
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        script: Any = page.evaluate("performance.memory.usedJSHeapSize")
        after = _memory(browser)
        tasks = list(_tasks(page, session))
        browser.close()
    return Tab(there, back, tasks, float(script), before, after)


def as_text(tab: Tab | None, events: int) -> str:
    """A paragraph for the report."""
    if tab is None:
        return "There is no Chromium here: the tab was not measured."
    how_far = "to the last" if tab.there.ended else f"for {len(tab.there.times):,} steps"
    lines = [
        f"The session of {events:,} events in Chromium, {PACE} steps a second (three times as fast as a key that is "
        f"held down), from its first entry {how_far}, and back. A step lasts until its frame is drawn."
    ]
    rows = []
    for name, walk in (("`j`, forwards", tab.there), ("`k`, backwards", tab.back)):
        shares = (milliseconds(report.percentile(walk.times, share)) for share in (0.5, 0.99, 0.999))
        longer = sum(took > STEP for took in walk.times)
        rows.append([name, f"{len(walk.times):,}", *shares, milliseconds(max(walk.times)), longer, f"{walk.nodes:,}"])
    head = ["key", "steps", "p50", "p99", "p99.9", "worst", f"over {milliseconds(STEP)}", "most nodes"]
    lines.append(report.table(head, rows))
    verdict = "Both keep" if tab.keeps_limits else "MISSED:"
    lines.append(
        f"{verdict} the limits of {milliseconds(STEP)} for a step (999 of 1,000), {NODES:,} nodes and "
        f"{MEMORY / 1e6:.0f} MB. The longest that the page works without a pause, in processor time: "
        f"{milliseconds(max(tab.tasks))} (p99.9 {milliseconds(report.percentile(tab.tasks, 0.999))}, {TRACED} more "
        f"steps). Memory of the tab: {tab.memory_before / 1e6:.0f} MB at first, {tab.memory_after / 1e6:.0f} MB in the "
        f"end, of which scripts have {tab.script_memory / 1e6:.1f} MB."
    )
    return "\n\n".join(lines)


def _walk(page: Page, key: str, steps: int) -> Walk:
    times: list[float] = []
    nodes, ended = 0, False
    while len(times) < steps and not ended:
        found: Any = page.evaluate(_WALK, [key, min(CHUNK, steps - len(times)), 1000 / PACE])
        times += [took / 1000 for took in found["times"]]
        nodes, ended = max(nodes, found["most"]), found["ended"]
        report.progress(f"{len(times):,} steps with {key}, the worst {milliseconds(max(times))}")
    return Walk(times, nodes, ended)


def _tasks(page: Page, session: CDPSession) -> Iterator[float]:
    """What each task of the page's main thread takes while one goes on, in processor time (s): other programs that run
    on this machine do not count."""
    events: list[Any] = []
    done: list[bool] = []
    session.on("Tracing.dataCollected", lambda message: events.extend(message["value"]))
    session.on("Tracing.tracingComplete", lambda _: done.append(True))
    categories = {"includedCategories": ["disabled-by-default-devtools.timeline", "devtools.timeline"]}
    session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": categories})
    _walk(page, "k", TRACED)
    session.send("Tracing.end")
    while not done:
        page.wait_for_timeout(50)
    mains = {(event["pid"], event["tid"]) for event in events if event["name"] == "UpdateLayoutTree"}
    for event in events:
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in mains and "tdur" in event:
            yield event["tdur"] / 1e6


def _memory(browser: Browser) -> int:
    """Of the process that has the page."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max((tree_memory(one["id"]) for one in processes if one["type"] == "renderer"), default=0)
