// A session that goes on: what is new is asked for, and put at the end.
import { ask, parsed, session, timeline, withFilters } from "./server.js";
import { dress } from "./dress.js";
import { blocks, fill, forgetLater, isAtEnd, recount } from "./timeline.js";
import { look as lookAround } from "./place.js";

const toEnd = document.getElementById("to-end");
const EVERY = 1500;

export function isAtBottom() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - 160;
}

// From the first block that waits for something; the last one at least, for it may go on.
function changing() {
  const all = blocks();
  return (all.find((block) => "running" in block.dataset) ?? all.at(-1))?.dataset.block ?? "";
}

async function look(replace) {
  const html = await ask(withFilters("/live", { stamp: session.dataset.stamp, after: changing() }));
  if (!html) return;
  const news = parsed(html).querySelector("[data-stamp]");
  const follow = isAtBottom();
  Object.assign(session.dataset, news.dataset);
  for (const id of ["about", "filters"]) replace(id, news.querySelector(`[data-part="${id}"]`));
  // Far from the end, the outline lists other prompts.
  if (isAtEnd()) replace("outline", news.querySelector('[data-part="outline"]'));
  forgetLater();
  const unseen = !isAtEnd();
  let added = 0;
  for (const block of unseen ? [] : news.querySelectorAll('[data-part="timeline"] > .block')) {
    const old = timeline.querySelector(`:scope > [data-block="${block.dataset.block}"]`);
    if (!old) {
      timeline.querySelector(":scope > .empty")?.remove();
      block.classList.add("fresh");
      timeline.append(block);
      dress(block);
      added += 1;
    } else if (old.dataset.version !== block.dataset.version) {
      keepFolds(old, block);
      old.replaceWith(block);
      dress(block);
      recount(block);
      added += 1;
    }
  }
  lookAround();
  if (follow && !unseen) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  else if (added || unseen) toEnd.hidden = false;
  fill();
}

// What somebody opened or folded stays so when its block comes again.
function keepFolds(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  for (const fold of old.querySelectorAll("details[id]")) {
    const same = fresh.querySelector(`[id="${CSS.escape(fold.id)}"]`);
    if (same && fold.className === same.className && same.open !== fold.open) same.open = fold.open;
  }
  if (focused) requestAnimationFrame(() => document.getElementById(focused)?.focus({ preventScroll: true }));
}

export function watch(replace, goToEnd) {
  const again = async () => {
    if (session.dataset.live && !document.hidden) {
      try {
        await look(replace);
      } catch {
        // The server is away; it may come back.
      }
    }
    setTimeout(again, EVERY);
  };
  setTimeout(again, EVERY);
  addEventListener("scroll", () => { if (!toEnd.hidden && isAtBottom() && isAtEnd()) toEnd.hidden = true; }, { passive: true });
  toEnd.addEventListener("click", () => { toEnd.hidden = true; goToEnd(); });
}
