"""A long session in a real browser: nodes, memory and milliseconds a step, from its first entry to its last."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import CDPSession, Page, sync_playwright

from bench import report, standstill
from bench.processes import tree_memory
from bench.report import milliseconds
from bench.standstill import Share

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Without a limit, a frame that is ready does not wait for the screen.
SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"),
    *("--disable-frame-rate-limit", "--disable-gpu-vsync"),
]
# The limits: nodes of the document at any time, seconds for a step, bytes of the tab in the end.
NODES, STEP, MEMORY = 5_000, 0.05, 250_000_000
# Steps a second: a key that is held down repeats so often; and three times as often, through the whole session.
HELD, FAST = 30, 90
# Steps between two lines of progress; steps with a key that is held down; steps whose tasks are measured one by one.
CHUNK, SOME, TRACED = 2_000, 600, 500

# A step is done when what it went to has the focus and the page is laid out; it is seen when the frame is drawn.
_WALK = """async ([key, steps, every]) => {
  const channel = new MessageChannel();
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
  }));
  const at = [];
  const waited = [];
  const done = [];
  const seen = [];
  let most = 0;
  let same = 0;
  let before = null;
  for (let step = 0; step < steps && same < 3; step += 1) {
    const begun = performance.now();
    at.push(Date.now());
    const going = window.sessionlogKeys[key]();
    const asked = performance.now();
    await going;
    waited.push(performance.now() - asked);
    document.body.getBoundingClientRect();
    done.push(performance.now() - begun);
    await drawn();
    seen.push(performance.now() - begun);
    const walker = document.createTreeWalker(document);
    let nodes = 1;
    while (walker.nextNode()) nodes += 1;
    most = Math.max(most, nodes);
    same = document.activeElement === before ? same + 1 : 0;
    before = document.activeElement;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, every - (performance.now() - begun))));
  }
  return { at, waited, done, seen, most, ended: same >= 3 };
}"""


class Walk(NamedTuple):
    """A walk through the session, in seconds: when each step began, how long it waited for something that was not in
    the tab, until it was done, and until it was seen; the most nodes; what the machine did in each slow step."""

    at: list[float]
    waited: list[float]
    done: list[float]
    seen: list[float]
    nodes: int
    slow: dict[int, Share]

    @property
    def own(self) -> list[int]:
        """The slow steps that are slow also without the time that the machine took."""
        return [step for step, share in self.slow.items() if self.done[step] - share.lost > STEP]

    @property
    def awaited(self) -> int:
        """How many steps waited for more than a moment for something that was not in the tab, or for a core."""
        return sum(waited > 0.001 for waited in self.waited)


class Tab(NamedTuple):
    """What a session costs in a tab."""

    walks: dict[str, Walk]
    tasks: list[float]  # processor time (s) of what the page did without a pause, in some steps
    script_memory: float
    memory_before: int
    memory_after: int

    @property
    def keeps_limits(self) -> bool:
        """No step is slow of itself, and the tab stays small."""
        nodes = max(walk.nodes for walk in self.walks.values())
        return not any(walk.own for walk in self.walks.values()) and nodes <= NODES and self.memory_after <= MEMORY


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
        before = tree_memory(_renderer(page))
        through = _walk(page, "j", steps, FAST)
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        script: Any = page.evaluate("performance.memory.usedJSHeapSize")
        after = tree_memory(_renderer(page))
        walks = {
            "`j`, from the first to the last": through,
            "`k` held down, at the end": _walk(page, "k", SOME, HELD),
        }
        tasks = list(_tasks(page, session))
        page.goto(address)
        walks["`j` held down, at the beginning"] = _walk(page, "j", SOME, HELD)
        browser.close()
    return Tab(walks, tasks, float(script), before, after)


def as_text(tab: Tab | None, events: int) -> str:
    """A paragraph for the report."""
    if tab is None:
        return "There is no Chromium here: the tab was not measured."
    lines = [
        f"The session of {events:,} events in Chromium: {FAST} steps a second through all of it, and {HELD}, as a key "
        "repeats that is held down. A step is done when what it went to has the focus and the page is laid out, and "
        "seen when it is scrolled to and its frame is drawn, without a graphics card."
    ]
    rows = []
    for name, walk in tab.walks.items():
        done = [milliseconds(report.percentile(walk.done, share)) for share in (0.5, 0.99, 0.999)]
        seen = [milliseconds(report.percentile(walk.seen, share)) for share in (0.5, 0.99, 0.999)]
        slow = [f"{len(walk.slow):,}", f"{len(walk.slow) - len(walk.own):,}", f"{walk.awaited:,}"]
        rows.append([name, f"{len(walk.done):,}", *done, milliseconds(max(walk.done)), *slow, *seen, f"{walk.nodes:,}"])
    head = ["keys", "steps", "done: p50", "p99", "p99.9", "worst", f"above {milliseconds(STEP)}", "by the machine"]
    lines.append(report.table([*head, "awaited", "seen: p50", "p99", "p99.9", "most nodes"], rows))
    lines.append(
        "Beside the walk a process of its own sleeps for 3 ms at a time and notes when it wakes more than 5 ms late: "
        "then the machine stood still, or others had every core. It also reads from the kernel how long the page's "
        "main thread, or the thread that draws it, was ready to run without a core. A step above the limit is *by the "
        "machine* if it is within the limit without the longer of these two times. In *awaited* steps more than 1 "
        "ms passed between the key and its end that was not the key's own work: the server, or another program."
    )
    slowest = [
        f"{milliseconds(walk.done[step])} ({milliseconds(walk.slow[step].lost)} by the machine, "
        f"{milliseconds(walk.waited[step])} for the server)"
        for walk in tab.walks.values()
        for step in walk.own
    ]
    if slowest:
        lines.append(f"Slow of themselves: {', '.join(slowest)}.")
    verdict = "All keep" if tab.keeps_limits else "MISSED:"
    lines.append(
        f"{verdict} the limits of {milliseconds(STEP)} until a step is done that the machine did not delay, {NODES:,} "
        f"nodes and {MEMORY / 1e6:.0f} MB. The longest that the page works without a pause, in processor time: "
        f"{milliseconds(report.percentile(tab.tasks, 1))} (p99.9 {milliseconds(report.percentile(tab.tasks, 0.999))}, "
        f"{TRACED} more steps). Memory of the tab: {tab.memory_before / 1e6:.0f} MB at first, "
        f"{tab.memory_after / 1e6:.0f} MB in the end, of which scripts have {tab.script_memory / 1e6:.1f} MB."
    )
    return "\n\n".join(lines)


def _walk(page: Page, key: str, steps: int, pace: float) -> Walk:
    page.wait_for_selector(".block")
    time.sleep(1)
    at: list[float] = []
    waited: list[float] = []
    done: list[float] = []
    seen: list[float] = []
    nodes, ended = 0, False
    with standstill.watching(_threads(_renderer(page))) as control:
        while len(done) < steps and not ended:
            found: Any = page.evaluate(_WALK, [key, min(CHUNK, steps - len(done)), 1000 / pace])
            at += [moment / 1000 for moment in found["at"]]
            waited += [took / 1000 for took in found["waited"]]
            done += [took / 1000 for took in found["done"]]
            seen += [took / 1000 for took in found["seen"]]
            nodes, ended = max(nodes, found["most"]), found["ended"]
            report.progress(f"{len(done):,} steps with {key}, the worst {milliseconds(max(done))}")
    slow = {
        step: control.share(begun, begun + took)
        for step, (begun, took) in enumerate(zip(at, done, strict=True))
        if took > STEP
    }
    for step, share in slow.items():
        report.progress(
            f"step {step:,}: {milliseconds(done[step])}; the machine stood still for {milliseconds(share.still)}; the "
            f"page waited {milliseconds(share.waited)} for a core and {milliseconds(waited[step])} for the server, "
            f"and ran {milliseconds(share.ran)}"
        )
    return Walk(at, waited, done, seen, nodes, slow)


def _tasks(page: Page, session: CDPSession) -> Iterator[float]:
    """What each task of the page's main thread takes while one goes on, in processor time (s): other programs that run
    on this machine do not count."""
    events: list[Any] = []
    done: list[bool] = []
    session.on("Tracing.dataCollected", lambda message: events.extend(message["value"]))
    session.on("Tracing.tracingComplete", lambda _: done.append(True))
    categories = {"includedCategories": ["disabled-by-default-devtools.timeline", "devtools.timeline"]}
    session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": categories})
    _walk(page, "k", TRACED, FAST)
    session.send("Tracing.end")
    while not done:
        page.wait_for_timeout(50)
    mains = {(event["pid"], event["tid"]) for event in events if event["name"] == "UpdateLayoutTree"}
    for event in events:
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in mains and "tdur" in event:
            yield event["tdur"] / 1e6


def _renderer(page: Page) -> int:
    """The process that has the page, which is also the number of its main thread."""
    assert page.context.browser
    processes = page.context.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    # There may be a spare one: the page has used the processor most.
    return max((one for one in processes if one["type"] == "renderer"), key=lambda one: float(one["cpuTime"]))["id"]


def _threads(renderer: int) -> list[int]:
    """The main thread, and the one that draws: it makes the main thread wait when both change what is on the screen."""
    tasks = [int(name) for name in os.listdir(f"/proc/{renderer}/task")]
    drawing = [task for task in tasks if Path(f"/proc/{renderer}/task/{task}/comm").read_text() == "Compositor\n"]
    return [renderer, *drawing]
