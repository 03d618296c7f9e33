// Where one is: the block on the screen, its prompt in the outline, its place on the map.
import { ask, session, timeline, withFilters } from "./server.js";
import { blocks, heldBlock, isAtEnd, onChange } from "./timeline.js";

// The block that one reads: what one has gone to, else the last that begins in the upper part of the screen.
export function here() {
  const gone = heldBlock();
  if (gone) return gone;
  const all = blocks();
  const left = document.documentElement.scrollHeight - innerHeight - scrollY;
  if (left < 5 && isAtEnd()) return (scrollY > 0 ? all.at(-1) : all[0]) ?? null;
  const line = innerHeight * 0.4;
  return all.findLast((block) => block.getBoundingClientRect().top <= line) ?? all[0] ?? null;
}

let waits = false;
export function look() {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => {
    waits = false;
    const block = here();
    if (!block) return;
    mark(block.dataset.turn);
    point(Number(block.dataset.number));
  });
}
addEventListener("scroll", look, { passive: true });
onChange(look);

function point(number) {
  const map = document.getElementById("map");
  if (!map) return;
  // The map leaves the client's bookkeeping out, as the timeline does: its bars say where their entries begin.
  const bars = [...map.querySelectorAll("a[data-number]")];
  const at = bars.findLastIndex((bar) => Number(bar.dataset.number) <= number);
  const start = Number(bars[at]?.dataset.number ?? 0);
  const end = Number(bars[at + 1]?.dataset.number ?? map.dataset.total);
  const share = (Math.max(at, 0) + Math.min(1, (number - start) / Math.max(1, end - start))) / bars.length;
  document.getElementById("you").setAttribute("x", (share * 1000 - 2).toFixed(1));
}

let missing = "";
function mark(name) {
  const outline = document.getElementById("outline");
  const line = outline.querySelector(`li > a:first-child[data-name="${CSS.escape(name)}"]`)?.parentElement;
  const old = outline.querySelector(".here");
  if (line === old && line) return;
  old?.classList.remove("here");
  old?.querySelector("a")?.removeAttribute("aria-current");
  if (!line) {
    if (name && name !== missing) list(name);
    return;
  }
  line.classList.add("here");
  line.querySelector("a").setAttribute("aria-current", "true");
  if (outline.scrollHeight > outline.clientHeight && outline.clientHeight > 100) {
    const box = outline.getBoundingClientRect();
    const { top, bottom } = line.getBoundingClientRect();
    if (top < box.top + 40 || bottom > box.bottom - 40) outline.scrollTop += top - box.top - box.height / 3;
  }
}

// Other prompts than those that are listed.
async function list(name) {
  missing = name;
  try {
    const html = await ask(withFilters("/outline", { near: name }));
    const outline = document.getElementById("outline");
    const folded = outline.querySelector(".drawer")?.open === false;
    outline.innerHTML = html;
    if (folded) outline.querySelector(".drawer").open = false;
    if (outline.querySelector(`[data-name="${CSS.escape(name)}"]`)) look();
  } catch {
    // The server is away: the outline stays as it is.
  } finally {
    missing = "";
  }
}

// The next or previous prompt or problem, however far away: its name, or nothing.
export async function following(from, what, direction) {
  return ask(withFilters("/next", { from, what, ...(direction < 0 ? { back: "1" } : {}) }));
}

// The name of what is marked, else of what is on the screen.
export function hereName() {
  const marked = document.activeElement?.closest?.("[data-item]") ?? timeline.querySelector(".target");
  const seen = marked && marked.getBoundingClientRect().bottom > 0 && marked.getBoundingClientRect().top < innerHeight;
  return (seen && /^[em]\d+$/.test(marked.id) ? marked.id : here()?.dataset.block) ?? "";
}

export const base = () => session.dataset.base;
