// The timeline holds what is near the screen. Blocks that are far away are dropped, and come back at the same place: what
// was dropped last is kept as text, the rest is asked for again.
import { ask, beside, parsed, timeline, withFilters } from "./server.js";
import { dress } from "./dress.js";

// Elements and texts of all blocks together; a page has some more around them. Beyond the first number, blocks are dropped
// until the second is reached: what is above the screen moves all that is on it, and so goes seldom.
const MOST_NODES = 1900;
const NODES_LEFT = 1400;
// Pixels above and below the screen that are filled, and beyond which blocks may be dropped.
const FILLED = 900;
const KEPT_FROM = 1100;
// Blocks that are kept as text on either side, and how few of them are left when the server is asked for more.
const WAITING = 80;
const AHEAD = 40;
// Milliseconds of filling after which keys and the screen have their turn, and how long it waits for them.
const SLICE = 4;
const PATIENCE = 60;

const sides = {
  prev: { waiting: [], coming: null },
  next: { waiting: [], coming: null },
};
const sizes = new WeakMap();
const listeners = [];

export const blocks = () => [...timeline.querySelectorAll(":scope > .block")];
export const edge = (rel) => timeline.querySelector(`:scope > .edge[rel=${rel}]`);
// Something is beyond the blocks that are there.
export const hasMore = (rel) => Boolean(edge(rel));
export function onChange(listener) {
  listeners.push(listener);
}

// --- What one reads stays where it is ---------------------------------------------------------------------------------

let held = null;

// An element stays where it is on the screen until somebody scrolls; null: what is on the screen does.
export function hold(element) {
  held = element;
}
const SCROLLING = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "];
for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
  addEventListener(kind, (event) => { if (kind !== "keydown" || SCROLLING.includes(event.key)) held = null; }, { passive: true, capture: true });
}

export const heldBlock = () => (held?.isConnected ? held.closest(".block") : null);

// What one sees at the top: a block, or a row within a tall one.
function fixed() {
  if (held?.isConnected) return held;
  const isSeen = (element) => element.getBoundingClientRect().bottom > 90;
  const block = blocks().find(isSeen);
  return block && block.getBoundingClientRect().top < 0 ? [...block.querySelectorAll(".row, .entry")].find(isSeen) ?? block : block;
}

// Change something above, and scroll by what it moved.
export function steadily(change) {
  const still = fixed();
  const before = still?.getBoundingClientRect().top;
  const result = change();
  if (still?.isConnected) {
    const moved = still.getBoundingClientRect().top - before;
    if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: "instant" });
  }
  return result;
}

// --- Counting ---------------------------------------------------------------------------------------------------------

function count(block) {
  let nodes = 1;
  const walker = document.createTreeWalker(block);
  while (walker.nextNode()) nodes += 1;
  sizes.set(block, nodes);
  return nodes;
}

export function recount(element) {
  const block = element.closest(".block");
  if (block) sizes.delete(block);
}

// --- Filling and dropping ---------------------------------------------------------------------------------------------

const holder = document.createElement("div");

function made(html) {
  holder.innerHTML = html;
  const block = holder.firstElementChild;
  holder.replaceChildren();
  return block;
}

// The next block on a side as an element, from what waits or from the server; null if there is none, or it did not come.
async function following(rel) {
  const side = sides[rel];
  if (!side.waiting.length) {
    const link = edge(rel);
    if (!link) return null;
    const answer = await coming(rel, link);
    if (!answer || edge(rel) !== link) return null;
    side.waiting = answer.blocks;
    if (answer.more) link.href = answer.more;
    else link.remove();
  }
  const html = rel === "next" ? side.waiting.shift() : side.waiting.pop();
  return html === undefined ? null : made(html);
}

// The answer for an edge, asked for once, and before it is needed.
function coming(rel, link) {
  const side = sides[rel];
  if (side.coming?.href !== link.href) {
    const href = link.href;
    const answer = ask(beside(href, "part")).then((html) => read(html, rel)).catch(() => {
      if (side.coming?.href === href) side.coming = null;
      return null;
    });
    side.coming = { href, answer };
  }
  return side.coming.answer;
}

// The blocks as texts: parsing them all at once would fill the tab. Each begins a line; recorded text has no tags.
function read(html, rel) {
  const [before, ...rest] = html.split(/^(?=<div class="block[ "])/m);
  const edges = parsed(before + (rest.at(-1)?.match(/^<a class="edge" [^]*$/m)?.[0] ?? ""));
  const found = rest.map((block) => block.replace(/^<a class="edge" [^]*$/m, ""));
  return { blocks: found, more: edges.querySelector(`.edge[rel=${rel}]`)?.href ?? null };
}

function isNeeded(rel) {
  const all = blocks();
  if (!all.length) return hasMore(rel);
  if (rel === "next") return all.at(-1).getBoundingClientRect().bottom < innerHeight + FILLED;
  return all[0].getBoundingClientRect().top > -FILLED;
}

const isWaiting = (rel) => sides[rel].waiting.length > 0 || hasMore(rel);

function insert(rel, block) {
  dress(block);
  if (rel === "next") {
    const link = edge("next");
    if (link) link.before(block);
    else timeline.append(block);
  } else {
    steadily(() => {
      const link = edge("prev");
      if (link) link.after(block);
      else timeline.prepend(block);
    });
  }
}

let filling = null;
let again = false;
let inserted = Promise.withResolvers();

// Safari has no requestIdleCallback.
const whenIdle = (then) => (window.requestIdleCallback ? requestIdleCallback(then, { timeout: PATIENCE }) : setTimeout(then, 1));

// After scrolling: the screen is drawn first.
let planned = false;
export function fillSoon() {
  if (planned) return;
  planned = true;
  whenIdle(() => { planned = false; fill(); });
}

// Until something has come, on whichever side, or there is nothing to come.
export function more() {
  return Promise.race([fill(), inserted.promise]);
}

// Bring what belongs on the screen and around it; drop what is far away.
export function fill() {
  if (filling) {
    again = true;
    return filling;
  }
  filling = fillNow().finally(() => {
    filling = null;
    if (again) {
      again = false;
      fill();
    }
  });
  return filling;
}

async function fillNow() {
  let changed = false;
  let begun = performance.now();
  const rest = async () => {
    if (performance.now() - begun <= SLICE) return;
    await new Promise(whenIdle);
    begun = performance.now();
  };
  for (const rel of ["next", "prev"]) {
    while (isWaiting(rel) && isNeeded(rel)) {
      const block = await following(rel);
      if (!block) break;
      insert(rel, block);
      changed = true;
      inserted.resolve();
      inserted = Promise.withResolvers();
      document.body.getBoundingClientRect(); // laid out now, in this slice
      await rest();
      drop();
      await rest();
    }
  }
  drop();
  // No step waits for the server: what comes next is asked for while there are still some.
  for (const rel of ["next", "prev"]) {
    const link = edge(rel);
    if (link && sides[rel].waiting.length < AHEAD) coming(rel, link);
  }
  if (changed) for (const listener of listeners) listener();
}

function drop() {
  const all = blocks();
  let nodes = all.reduce((sum, block) => sum + (sizes.get(block) ?? count(block)), 0);
  if (nodes <= MOST_NODES) return;
  const above = [];
  const below = [];
  for (const block of all) {
    const { top, bottom } = block.getBoundingClientRect();
    if (bottom < -KEPT_FROM) above.push({ block, far: -bottom });
    else if (top > innerHeight + KEPT_FROM) below.push({ block, far: top - innerHeight });
  }
  const first = [];
  const last = [];
  while (nodes > NODES_LEFT && (above.length || below.length)) {
    const isAbove = (above[0]?.far ?? -1) >= (below.at(-1)?.far ?? -1);
    const { block } = isAbove ? above.shift() : below.pop();
    (isAbove ? first : last).push(block);
    nodes -= sizes.get(block);
  }
  if (first.length) steadily(() => put(first, "prev"));
  if (last.length) put(last, "next");
}

// Away with these blocks, the outermost one first.
function put(dropped, rel) {
  const side = sides[rel];
  for (const block of dropped) {
    // A block that waits for something is asked for again: it may have got it.
    if (rel === "prev") side.waiting.push(block.outerHTML);
    else side.waiting.unshift(block.outerHTML);
    block.remove();
  }
  if (side.waiting.length > WAITING) forget(rel, side.waiting.length - WAITING / 2);
}

// The outermost of those that wait are given up; the edge leads to them.
function forget(rel, number) {
  const side = sides[rel];
  const gone = rel === "prev" ? side.waiting.splice(0, number) : side.waiting.splice(-number);
  const kept = rel === "prev" ? side.waiting[0] : side.waiting.at(-1);
  if (!gone.length) return;
  const name = kept ? made(kept).dataset.block : (rel === "prev" ? blocks()[0] : blocks().at(-1)).dataset.block;
  setEdge(rel, name);
}

function setEdge(rel, name) {
  let link = edge(rel);
  if (!link) {
    link = Object.assign(document.createElement("a"), { className: "edge", rel, textContent: rel === "prev" ? "Earlier" : "Later" });
    if (rel === "prev") timeline.prepend(link);
    else timeline.append(link);
  }
  link.href = withFilters("", { [rel === "prev" ? "before" : "after"]: name });
}

// What waits below may have changed since: it is asked for again.
export function forgetLater() {
  const last = blocks().at(-1);
  if (!sides.next.waiting.length || !last) return;
  sides.next = { waiting: [], coming: null };
  setEdge("next", last.dataset.block);
}

// Another part of the session is on the page.
export function begin() {
  for (const rel of ["prev", "next"]) sides[rel] = { waiting: [], coming: null };
  for (const block of blocks()) dress(block);
  held = null;
}

// Is there something below that is not on the page?
export const isAtEnd = () => !isWaiting("next");
