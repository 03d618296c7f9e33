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
// Blocks that wait as text on either side. With fewer than the first number the server is asked for more: seconds before
// a key that is held down needs them. With more than the second, half of them are given up.
const AHEAD = 120;
const WAITING = 320;
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

// Something has come from the server on a side; false if there is nothing, or it did not come. Asked for once, and before
// it is needed.
export function arrival(rel) {
  const side = sides[rel];
  if (!edge(rel)) return Promise.resolve(false);
  side.coming ??= receive(rel, side, edge(rel).href).then((came) => {
    side.coming = null;
    if (came) askAhead(rel);
    return came;
  });
  return side.coming;
}

async function receive(rel, side, href) {
  let answer;
  try {
    answer = read(await ask(beside(href, "part")), rel);
  } catch {
    return false; // The server is away: the next look around asks again.
  }
  if (sides[rel] !== side) return false; // another part of the session is on the page
  const link = edge(rel);
  if (link?.href !== href) return true; // some were given up meanwhile, and the edge leads to them
  side.waiting = rel === "next" ? [...side.waiting, ...answer.blocks] : [...answer.blocks, ...side.waiting];
  if (answer.more) link.href = answer.more;
  else link.remove();
  return answer.blocks.length > 0;
}

function askAhead(rel) {
  if (edge(rel) && sides[rel].waiting.length < AHEAD) arrival(rel);
}

// Put the next block that waits on a side on the page; false if none waits.
function bringBlock(rel) {
  const { waiting } = sides[rel];
  const html = rel === "next" ? waiting.shift() : waiting.pop();
  if (html === undefined) return false;
  insert(rel, made(html));
  return true;
}

// The same for a key that cannot wait until the page is filled: keys may come faster than that.
export function advance(rel) {
  const came = bringBlock(rel);
  if (came) drop();
  return came;
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

// Safari has no requestIdleCallback.
const whenIdle = (then) => (window.requestIdleCallback ? requestIdleCallback(then, { timeout: PATIENCE }) : setTimeout(then, 1));

// After scrolling: the screen is drawn first.
let planned = false;
export function fillSoon() {
  if (planned) return;
  planned = true;
  whenIdle(() => { planned = false; fill(); });
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
  const isMissing = (rel) => hasMore(rel) && isNeeded(rel);
  do {
    for (const rel of ["next", "prev"]) {
      while (isNeeded(rel) && bringBlock(rel)) {
        changed = true;
        document.body.getBoundingClientRect(); // laid out now, in this slice
        await rest();
        drop();
        await rest();
      }
    }
    // What one side waits for does not keep the other from being filled.
  } while ((await Promise.all(["next", "prev"].filter(isMissing).map(arrival))).some(Boolean));
  drop();
  for (const rel of ["next", "prev"]) askAhead(rel);
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
