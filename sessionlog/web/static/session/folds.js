// What is folded has no inside until it is opened: then the server is asked for it.
import { ask, timeline, withFilters } from "./server.js";
import { dress, remember } from "./dress.js";
import { fill, recount, steadily } from "./timeline.js";

const asked = new WeakMap();
const body = (details) => details.querySelector(":scope > .inside, :scope > .nested");

// Opens it, and is done when its inside is there.
export function unfold(details) {
  details.open = true;
  if (!details.dataset.inside || body(details)) return Promise.resolve();
  if (!asked.has(details)) asked.set(details, bring(details).finally(() => asked.delete(details)));
  return asked.get(details);
}

async function bring(details) {
  let html;
  try {
    html = await ask(withFilters(`/inside/${details.dataset.inside}`));
  } catch {
    html = '<div class="inside"><p class="quiet small">It could not be loaded.</p></div>';
  }
  if (body(details)) return;
  steadily(() => details.insertAdjacentHTML("beforeend", html));
  dress(details);
  recount(details);
  fill();
}

// What somebody opens or folds stays so, also when its block was away meanwhile.
timeline.addEventListener("click", (event) => {
  const details = event.target.closest("summary")?.parentElement;
  if (details?.id && !event.target.closest("a, button")) remember(details.id, !details.open);
});

export function turn(details) {
  remember(details.id, !details.open);
  details.open = !details.open;
}

// Also for what was opened by somebody else: a search in the page, the keyboard.
timeline.addEventListener("toggle", (event) => {
  const details = event.target;
  if (!details.dataset?.inside) return;
  if (details.open) {
    unfold(details);
  } else {
    body(details)?.remove();
    recount(details);
    fill();
  }
}, { capture: true });
