// The page of a session: more of it as one scrolls, what is new while one watches, and keys to go through it.
const session = document.getElementById("session");
const timeline = document.getElementById("timeline");
const keys = window.sessionlogKeys;
const parser = new DOMParser();

async function fetched(address) {
  const response = await fetch(address, { headers: { "x-requested-with": "fetch" } });
  if (response.status === 204) return null;
  if (!response.ok) throw new Error(`${response.status} for ${address}`);
  return parser.parseFromString(await response.text(), "text/html");
}

// The same address with another end: …/session/db/id?kind=x becomes …/session/db/id/part?kind=x
function beside(address, part) {
  const url = new URL(address, location.href);
  return `${url.pathname}/${part}${url.search}`;
}

// --- More as one scrolls ---------------------------------------------------------------------------------------------

const loading = new Map();

function more(edge) {
  if (!loading.has(edge)) loading.set(edge, load(edge));
  return loading.get(edge);
}

async function load(edge) {
  edge.textContent = "…";
  let page;
  try {
    page = await fetched(beside(edge.href, "part"));
  } catch {
    edge.textContent = edge.rel === "prev" ? "Earlier" : "Later";
    loading.delete(edge);
    return;
  }
  if (!edge.isConnected) return;
  const blocks = [...page.body.children];
  const earlier = edge.rel === "prev";
  // What one reads stays where it is, whatever comes above it. Most browsers see to that, but not at the very top.
  const alone = scrollY < 1 || !CSS.supports("overflow-anchor", "auto");
  const still = earlier && alone ? edge.nextElementSibling : null;
  const before = still?.getBoundingClientRect().top;
  edge.replaceWith(...blocks.filter((block) => !block.matches(earlier ? ".edge[rel=next]" : ".edge[rel=prev]")));
  if (still) scrollBy({ top: still.getBoundingClientRect().top - before, behavior: "instant" });
  watchEdges();
}

const edges = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) if (isIntersecting) more(target);
}, { rootMargin: "1200px 0px" });

// Blocks of code in what models wrote; those of calls come with a button.
function offerCopies() {
  for (const block of timeline.querySelectorAll(".markdown > pre.code")) {
    const frame = Object.assign(document.createElement("div"), { className: "terminal" });
    const button = Object.assign(document.createElement("button"), { className: "link", type: "button", textContent: "copy" });
    button.dataset.copy = "";
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

function watchEdges() {
  offerCopies();
  edges.disconnect();
  for (const edge of timeline.querySelectorAll(".edge")) edges.observe(edge);
  watchPrompts();
}

// --- Where one is -----------------------------------------------------------------------------------------------------

// The prompt whose turn one sees: the last one that began above the middle of the screen.
let waits = false;
function watchPrompts() {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => {
    waits = false;
    const begun = [...timeline.querySelectorAll("[data-prompt]")].filter((prompt) => prompt.getBoundingClientRect().top < innerHeight / 2);
    mark(begun.at(-1)?.id ?? timeline.querySelector(".edge[rel=prev]")?.dataset.turn ?? "");
  });
}
addEventListener("scroll", watchPrompts, { passive: true });

function mark(name) {
  const outline = document.getElementById("outline");
  const line = outline.querySelector(`li > a:first-child[data-name="${CSS.escape(name)}"]`)?.parentElement;
  const old = outline.querySelector(".here");
  if (line === old) return;
  old?.classList.remove("here");
  if (!line) return;
  line.classList.add("here");
  if (outline.scrollHeight > outline.clientHeight && outline.clientHeight > 100) {
    const top = line.offsetTop - outline.offsetTop;
    if (top < outline.scrollTop + 30 || top > outline.scrollTop + outline.clientHeight - 60) outline.scrollTop = top - 80;
  }
}

// #event-12 and #e12 name the same moment; what is not on the page is asked for.
function named(name) {
  const short = name.replace(/^event-/, "e").replace(/^message-/, "m");
  if (!/^[em]\d+$/.test(short)) return null;
  return { short, element: document.getElementById(short)?.closest(".entry, .call, .agent") };
}

function show(element, focus = true) {
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
  for (const old of timeline.querySelectorAll(".target")) old.classList.remove("target");
  element.classList.add("target");
  if (focus) {
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
  }
  hold(element);
}

// Blocks that were never painted have a guessed height, and more of them come above and below: what was gone to stays in
// the middle until somebody scrolls.
let held = null;
let heldAt = 0;
function hold(element) {
  held = element;
  element.scrollIntoView({ block: "center", behavior: "instant" });
  heldAt = scrollY;
}
new ResizeObserver(() => { if (held?.isConnected) hold(held); }).observe(timeline);
addEventListener("scroll", () => { if (Math.abs(scrollY - heldAt) > 2) held = null; }, { passive: true });

async function go(name, push = true) {
  const found = named(name);
  if (!found) return;
  if (found.element) {
    if (push) history.pushState(null, "", `#${found.short}`);
    show(found.element);
  } else {
    const query = new URLSearchParams(location.search);
    for (const old of ["before", "after"]) query.delete(old);
    query.set("at", found.short);
    await open(`${session.dataset.base}?${query}#${found.short}`, push);
  }
}

// --- Another view of the session, without leaving the page ------------------------------------------------------------

async function open(address, push = true) {
  const page = await fetched(address);
  for (const id of ["about", "outline", "filters", "timeline"]) replace(id, page.getElementById(id));
  Object.assign(session.dataset, page.getElementById("session").dataset);
  document.querySelector(".bottom span").replaceWith(page.querySelector(".bottom span"));
  if (push) history.pushState(null, "", address);
  arrive();
}

function replace(id, fresh) {
  const old = document.getElementById(id);
  const folded = old.querySelector("details.drawer")?.open === false;
  const filters = old.querySelector("details.more-filters")?.open;
  old.replaceChildren(...fresh.childNodes);
  if (folded) old.querySelector("details.drawer").open = false;
  if (filters) old.querySelector("details.more-filters").open = true;
  if (id === "filters") showDiffs();
}

function arrive() {
  watchEdges();
  const target = location.hash ? named(location.hash.slice(1)) : null;
  const asked = target?.element ?? timeline.querySelector(".target");
  if (asked) show(asked);
  else if (new URLSearchParams(location.search).has("end")) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  else if (target && new URLSearchParams(location.search).get("at") !== target.short) go(target.short, false);
}

document.addEventListener("click", async (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a");
  if (!link) return;
  if (link.matches("[data-filter]")) {
    event.preventDefault();
    await open(link.href.baseVal ?? link.href);
  } else if (link.matches("[data-name]")) {
    event.preventDefault();
    if (innerWidth < 1020) document.querySelector(".drawer").open = false;
    await go(link.dataset.name);
  } else if (link.matches("[data-moment]")) {
    event.preventDefault();
    copyLink(link);
  } else if (link.matches("[data-all]")) {
    event.preventDefault();
    await showMore(link);
  }
});

addEventListener("popstate", () => open(location.href, false));

async function copyLink(link) {
  history.replaceState(null, "", link.getAttribute("href"));
  await navigator.clipboard?.writeText(link.href);
  link.classList.add("done");
  setTimeout(() => link.classList.remove("done"), 1200);
}

// --- Texts that are shown in part -------------------------------------------------------------------------------------

async function showMore(link) {
  const from = Number(link.dataset.from ?? 0);
  const response = await fetch(`${link.href}?from=${from}`);
  if (!response.ok) return;
  const text = await response.text();
  let block = link.parentElement.previousElementSibling;
  if (!from) {
    const plain = document.createElement("pre");
    plain.className = block.matches("pre") ? block.className : "code output";
    plain.tabIndex = 0;
    block.replaceWith(plain);
    block = plain;
  }
  block.append(text);
  const left = Number(response.headers.get("x-left") ?? 0);
  if (!left) {
    link.parentElement.remove();
    return;
  }
  link.dataset.from = from + 200000;
  link.textContent = `Show more: ${Math.ceil(left / 1000).toLocaleString("en")} KB are left`;
  if (!link.nextElementSibling) {
    const whole = Object.assign(document.createElement("a"), { href: link.href, textContent: "all as plain text", target: "_blank" });
    link.after(" · ", whole);
  }
}

// --- Diffs ------------------------------------------------------------------------------------------------------------

function showDiffs(split = localStorage.getItem("sessionlog-diff") === "split") {
  document.documentElement.dataset.diff = split ? "split" : "unified";
  const button = document.getElementById("diff-switch");
  button.hidden = false;
  button.setAttribute("aria-pressed", split);
}

function switchDiffs() {
  const split = document.documentElement.dataset.diff !== "split";
  localStorage.setItem("sessionlog-diff", split ? "split" : "unified");
  showDiffs(split);
}

document.addEventListener("click", (event) => {
  if (event.target.id === "diff-switch") switchDiffs();
});

// --- A session that goes on -------------------------------------------------------------------------------------------

const toEnd = document.getElementById("to-end");
const EVERY = 1500;

function atBottom() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - 160;
}

// From the first block that waits for something; the last one at least, for it may go on.
function changing() {
  const blocks = [...timeline.querySelectorAll(":scope > .block")].slice(-100);
  return (blocks.find((block) => "running" in block.dataset) ?? blocks.at(-1))?.dataset.block ?? "";
}

async function look() {
  const query = new URLSearchParams(session.dataset.query);
  query.set("stamp", session.dataset.stamp);
  query.set("after", changing());
  const page = await fetched(`${session.dataset.base}/live?${query}`);
  if (!page) return;
  const news = page.querySelector("[data-stamp]");
  const follow = atBottom();
  Object.assign(session.dataset, news.dataset);
  for (const id of ["about", "outline", "filters"]) replace(id, news.querySelector(`[data-part="${id}"]`));
  // Somewhere in the middle of the session, its end is not on the page.
  const unseen = timeline.querySelector(".edge[rel=next]");
  let added = 0;
  for (const block of unseen ? [] : news.querySelectorAll('[data-part="timeline"] > .block')) {
    const old = timeline.querySelector(`:scope > [data-block="${block.dataset.block}"]`);
    if (!old) {
      timeline.querySelector(":scope > .empty")?.remove();
      block.classList.add("fresh");
      timeline.append(block);
      added += 1;
    } else if (old.dataset.version !== block.dataset.version) {
      keepFolds(old, block);
      old.replaceWith(block);
      added += 1;
    }
  }
  offerCopies();
  watchPrompts();
  if (follow && !unseen) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  else if (added || unseen) toEnd.hidden = false;
}

// What somebody opened or folded stays so when its block comes again.
function keepFolds(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  for (const fold of old.querySelectorAll("details[id], details[data-agent]")) {
    const name = fold.id ? `[id="${fold.id}"]` : `[data-agent="${fold.dataset.agent}"]`;
    const same = fresh.querySelector(name);
    const changed = same && fold.className !== same.className;
    if (same && !changed) same.open = fold.open;
  }
  if (focused) requestAnimationFrame(() => document.getElementById(focused)?.focus({ preventScroll: true }));
}

async function watch() {
  if (session.dataset.live && !document.hidden) {
    try {
      await look();
    } catch {
      // The server is away; it may come back.
    }
  }
  setTimeout(watch, EVERY);
}

addEventListener("scroll", () => { if (!toEnd.hidden && atBottom()) toEnd.hidden = true; }, { passive: true });
toEnd.addEventListener("click", () => end());

async function end() {
  toEnd.hidden = true;
  const later = timeline.querySelector(".edge[rel=next]");
  if (later) {
    const query = new URLSearchParams(session.dataset.query);
    query.set("end", "1");
    await open(`${session.dataset.base}?${query}`);
  }
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  const last = [...timeline.querySelectorAll("[data-item]")].at(-1);
  if (!last) return;
  if (!last.matches("summary")) last.tabIndex = -1;
  last.focus({ preventScroll: true });
}

// --- Keys -------------------------------------------------------------------------------------------------------------

function current() {
  return document.activeElement.closest?.("[data-item]") ?? null;
}

// The next or previous of a kind, from where one is; what is beyond the page is asked for.
async function toward(selector, direction, names) {
  const all = [...timeline.querySelectorAll(selector)];
  const from = current() ?? timeline.querySelector(".target");
  let next;
  if (from) {
    const wanted = direction > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
    const beyond = all.filter((item) => from.compareDocumentPosition(item) & wanted);
    next = direction > 0 ? beyond[0] : beyond.at(-1);
  } else {
    next = direction > 0 ? all.find((item) => item.getBoundingClientRect().bottom > 60) : null;
  }
  if (next) {
    history.replaceState(null, "", `#${next.id}`);
    show(next);
    return;
  }
  const edge = timeline.querySelector(`.edge[rel=${direction > 0 ? "next" : "prev"}]`);
  if (!edge) return;
  const known = all.at(direction > 0 ? -1 : 0)?.id ?? "";
  const lines = names();
  const here = lines.indexOf(known);
  const name = here >= 0 ? lines[here + direction] : undefined;
  if (name) await go(name);
  else {
    await more(edge);
    if (timeline.querySelectorAll(selector).length > all.length) await toward(selector, direction, names);
  }
}

const prompts = () => [...document.querySelectorAll("#outline li > a:first-child")].map((link) => link.dataset.name);

function fold() {
  const item = current();
  const details = item?.closest("details") ?? item?.querySelector("details");
  if (details) details.open = !details.open;
}

Object.assign(keys, {
  n: () => toward("[data-prompt]", 1, prompts),
  p: () => toward("[data-prompt]", -1, prompts),
  x: () => toward("[data-bad]", 1, () => []),
  X: () => toward("[data-bad]", -1, () => []),
  e: () => toward("[data-bad]", 1, () => []),
  o: fold,
  d: switchDiffs,
  f: () => document.querySelector(".chip.kind-focused").click(),
  y: () => {
    const item = current() ?? timeline.querySelector(".target");
    const link = item?.closest("article, .row")?.querySelector(":scope > [data-moment], :scope > header [data-moment]");
    if (link) copyLink(link);
  },
  G: end,
});

if (innerWidth < 1020) document.querySelector(".drawer").open = false;
showDiffs();
arrive();
setTimeout(watch, EVERY);
