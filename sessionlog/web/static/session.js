// The page of a session: more of it as one scrolls, what is new while one watches, and keys to go through it.
import { ask, parsed, session, timeline, withFilters } from "./session/server.js";
import { advance, arrival, begin, blocks, fill, fillSoon, hold, isAtEnd, recount } from "./session/timeline.js";
import { turn, unfold } from "./session/folds.js";
import { showDiffs, switchDiffs } from "./session/split.js";
import { following, here, hereName, look } from "./session/place.js";
import { watch } from "./session/live.js";
import { showMore } from "./session/texts.js";
import "./session/why.js";

const keys = window.sessionlogKeys;

// --- To a moment ------------------------------------------------------------------------------------------------------

// #event-12 and #e12 name the same moment; what is not on the page is asked for.
function named(name) {
  const short = name.replace(/^event-/, "e").replace(/^message-/, "m");
  if (!/^[em]\d+$/.test(short)) return null;
  return { short, element: document.getElementById(short)?.closest(".entry, .call, .agent") };
}

async function show(element) {
  const folded = [];
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) folded.push(fold);
  for (const old of timeline.querySelectorAll(".target")) old.classList.remove("target");
  element.classList.add("target");
  focus(element);
  followed = null;
  element.scrollIntoView({ block: "center", behavior: "instant" });
  hold(element);
  await Promise.all(folded.map(unfold));
  if (!element.isConnected) return;
  const { top, height } = element.getBoundingClientRect();
  if (height < innerHeight * 0.7 && (top < 120 || top + height > innerHeight - 40)) {
    element.scrollIntoView({ block: "center", behavior: "instant" });
  }
  hold(element);
  await fill();
  look();
}

function focus(element) {
  if (!element.matches("a, button, summary, [tabindex]")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

async function go(name, push = true) {
  const found = named(name);
  if (!found) return;
  if (found.element) {
    if (push) history.pushState(null, "", `#${found.short}`);
    await show(found.element);
  } else {
    await open(`${withFilters("", { at: found.short })}#${found.short}`, push);
  }
}

// --- Another view of the session, without leaving the page ------------------------------------------------------------

// `asked` is what the server gets, `address` what stays in the browser.
async function open(asked, push = true, address = asked) {
  const page = parsed(await ask(asked));
  for (const id of ["about", "outline", "filters", "timeline"]) replace(id, page.getElementById(id));
  Object.assign(session.dataset, page.getElementById("session").dataset);
  document.querySelector(".bottom span").replaceWith(page.querySelector(".bottom span"));
  if (push) history.pushState(null, "", address);
  await arrive();
}

// Other filters, at the same place: what one reads, or what comes after it, stays at its height.
// One after the other: where one is, is known again when the one before is done.
let filtered = Promise.resolve();
function filter(address) {
  filtered = filtered.then(() => filterNow(address), () => filterNow(address));
  return filtered;
}

async function filterNow(address) {
  const block = here();
  const number = Number(block?.dataset.number ?? 0);
  const isFirst = !block || scrollY < 50;
  const top = Math.max(120, block?.getBoundingClientRect().top ?? 0);
  const url = new URL(address, location.href);
  url.searchParams.delete("near");
  const shown = `${url.pathname}${url.search}`;
  if (!isFirst) url.searchParams.set("near", hereName());
  await open(`${url.pathname}${url.search}`, true, shown);
  if (isFirst) return;
  const all = blocks();
  const same = all.findLast((one) => Number(one.dataset.number) <= number) ?? all[0];
  if (!same) return;
  scrollBy({ top: same.getBoundingClientRect().top - top, behavior: "instant" });
  hold(same);
  await fill();
  look();
}

function replace(id, fresh) {
  const old = document.getElementById(id);
  const folded = old.querySelector("details.drawer")?.open === false;
  const filters = old.querySelector("details.more-filters")?.open;
  old.replaceChildren(...fresh.childNodes);
  if (folded) old.querySelector("details.drawer").open = false;
  if (filters) old.querySelector("details.more-filters").open = true;
  if (id === "filters") showDiffs();
  if (id !== "timeline") look();
}

async function arrive() {
  begin();
  const query = new URLSearchParams(location.search);
  const target = location.hash ? named(location.hash.slice(1)) : null;
  const asked = target?.element ?? timeline.querySelector(".target");
  if (asked) await show(asked);
  else if (query.has("end")) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  else if (target && query.get("at") !== target.short) return go(target.short, false);
  await fill();
  look();
}

document.addEventListener("click", async (event) => {
  if (event.target.id === "diff-switch") switchAll();
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a");
  if (!link) return;
  if (link.matches("[data-filter]")) {
    event.preventDefault();
    await filter(link.href);
  } else if (link.matches("[data-name]")) {
    event.preventDefault();
    if (innerWidth < 1020) document.querySelector(".drawer").open = false;
    await go(link.dataset.name);
  } else if (link.matches("[data-context]")) {
    event.preventDefault();
    await open(link.href);
  } else if (link.matches("[data-moment]")) {
    event.preventDefault();
    copyLink(link);
  } else if (link.matches("[data-all]")) {
    event.preventDefault();
    await showMore(link);
  } else if (link.matches(".edge")) {
    event.preventDefault();
    await fill();
  }
});

addEventListener("popstate", () => open(location.href, false));
addEventListener("scroll", fillSoon, { passive: true });
addEventListener("resize", fillSoon, { passive: true });

async function copyLink(link) {
  history.replaceState(null, "", link.getAttribute("href"));
  await navigator.clipboard?.writeText(link.href);
  link.classList.add("done");
  setTimeout(() => link.classList.remove("done"), 1200);
}

// --- Diffs, other sessions, print ------------------------------------------------------------------------------------

function switchAll() {
  switchDiffs(timeline);
  for (const block of blocks()) recount(block);
  fill();
}

// Where there is room, the sessions around this one.
async function listSessions() {
  const list = document.getElementById("beside");
  if (!list.hidden || innerWidth < 1700) return;
  list.hidden = false;
  session.classList.add("with-beside");
  list.querySelector("ol").innerHTML = await ask(`${session.dataset.base}/beside`);
  const here = list.querySelector(".here");
  if (here) list.scrollTop = here.offsetTop - list.clientHeight / 3;
}
addEventListener("resize", listSessions, { passive: true });

// The page holds a part of the session: what is printed is all of it.
addEventListener("keydown", (event) => {
  if (event.key !== "p" || !(event.ctrlKey || event.metaKey)) return;
  const whole = window.open(document.getElementById("print").href);
  if (!whole) return;
  event.preventDefault();
  whole.addEventListener("load", () => whole.print());
});

// --- Keys -------------------------------------------------------------------------------------------------------------

async function end() {
  followed = null;
  if (!isAtEnd()) await open(withFilters("", { end: "1" }));
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  const last = [...timeline.querySelectorAll("[data-item]")].at(-1);
  if (last) focus(last);
  hold(null);
  look();
}

function current() {
  return document.activeElement.closest?.("[data-item]") ?? null;
}

const items = (selector) => [...timeline.querySelectorAll(selector)].filter((item) => item.checkVisibility());

// Who goes back without having marked anything begins at the lower end of the screen.
function lastSeen(all) {
  const isSeen = ({ top, bottom }) => bottom > 120 && top < innerHeight;
  const seen = all.filter((item) => isSeen(item.getBoundingClientRect()));
  return seen.findLast((item) => item.getBoundingClientRect().bottom <= innerHeight) ?? seen[0];
}

// The next or previous of what is on the page, from where one is.
function beyond(selector, direction) {
  const all = items(selector);
  const from = current() ?? timeline.querySelector(".target");
  if (!from) return direction > 0 ? all.find((item) => item.getBoundingClientRect().bottom > 120) : lastSeen(all);
  const wanted = direction > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
  const found = all.filter((item) => from.compareDocumentPosition(item) & wanted);
  return direction > 0 ? found[0] : found.at(-1);
}

// The screen follows at the start of the next frame, once for all keys until then. Scrolling at once would wait for the
// frame that is being drawn.
let followed = null;

function follow(element) {
  if (!followed) requestAnimationFrame(scrollNow);
  followed = element;
}

function scrollNow() {
  const element = followed;
  followed = null;
  if (!element?.isConnected) return;
  const { top, bottom } = element.getBoundingClientRect();
  if (top < 140 || bottom > innerHeight - 20) element.scrollIntoView({ block: bottom - top > innerHeight / 2 ? "start" : "nearest", behavior: "instant" });
}

// What waits as text comes at once. Nothing is dropped that is where the screen is about to be.
function advanceTo(rel) {
  scrollNow();
  return advance(rel);
}

async function step(direction) {
  const rel = direction > 0 ? "next" : "prev";
  let next = beyond("[data-item]", direction);
  // The server is waited for only if nothing is there.
  for (let tries = 0; !next && tries < 5 && (advanceTo(rel) || (await arrival(rel))); tries += 1) next = beyond("[data-item]", direction);
  if (!next) return;
  hold(null);
  focus(next);
  follow(next);
}

// The next prompt or problem, wherever it is.
async function toward(selector, what, direction) {
  const next = beyond(selector, direction);
  // A sub-agent that is folded hides what is in it.
  const hidden = what === "problem" ? beyond("details:not([open])[data-trouble] > summary", direction) : null;
  const isCloser = hidden && (!next || hidden.compareDocumentPosition(next) & (direction > 0 ? 4 : 2));
  if (next && !isCloser) {
    history.replaceState(null, "", `#${next.id}`);
    await show(next);
    return;
  }
  const name = await following(hereName(), what, direction);
  if (!name) return;
  if (isCloser) await unfold(hidden.parentElement);
  await go(name);
}

function fold() {
  const item = current();
  const details = item?.closest("details") ?? item?.querySelector("details");
  if (details) turn(details);
}

Object.assign(keys, {
  j: () => step(1),
  k: () => step(-1),
  n: () => toward("[data-prompt]", "prompt", 1),
  p: () => toward("[data-prompt]", "prompt", -1),
  x: () => toward("[data-bad]", "problem", 1),
  X: () => toward("[data-bad]", "problem", -1),
  e: () => toward("[data-bad]", "problem", 1),
  o: fold,
  d: switchAll,
  f: () => document.querySelector(".chip.kind-focused").click(),
  c: () => current()?.closest("article, .row")?.querySelector("[data-context]")?.click(),
  y: () => {
    const item = current() ?? timeline.querySelector(".target");
    const link = item?.closest("article, .row")?.querySelector(":scope > [data-moment], :scope > header [data-moment]");
    if (link) copyLink(link);
  },
  G: end,
  "[": () => document.getElementById("earlier")?.click(),
  "]": () => document.getElementById("later")?.click(),
});

// Beside the timeline the outline is open; above it, folded.
const isWide = matchMedia("(min-width: 1020px)");
const foldOutline = () => { document.querySelector(".drawer").open = isWide.matches; };
isWide.addEventListener("change", foldOutline);
foldOutline();
showDiffs();
await arrive();
// The browser goes to the name in the address once more when all is loaded, and takes the focus away.
addEventListener("load", () => { const target = timeline.querySelector(".target"); if (target) focus(target); });
watch(replace, end);
listSessions();
