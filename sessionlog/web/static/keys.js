// Everything can be reached with the keyboard. Lists of things to go through carry [data-item] on each thing.
const PLACES = { h: "/", s: "/-/sessions", f: "/-/files", d: "/-/dashboard", a: "/-/audits", t: "/-/tables" };
const help = document.getElementById("help");
let going = false;

function items() {
  return [...document.querySelectorAll("[data-item]")].filter((item) => item.checkVisibility());
}

// From the thing that is marked now; else the first one that can be seen, or the last, as one comes from above or below.
function step(direction) {
  const all = items();
  if (!all.length) return;
  const current = all.findIndex((item) => item === document.activeElement || item.contains(document.activeElement));
  let next = current + direction;
  if (current < 0 && direction > 0) next = all.findIndex((item) => item.getBoundingClientRect().bottom > 60);
  if (current < 0 && direction < 0) next = all.findLastIndex((item) => item.getBoundingClientRect().bottom <= innerHeight);
  const item = all[Math.max(0, Math.min(all.length - 1, next))];
  if (!item.matches("a, button, summary, [tabindex]")) item.tabIndex = -1;
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

// Other scripts add keys of their page with sessionlogKeys.x = function.
const keys = {
  "/": () => { const find = document.getElementById("find"); find.focus(); find.select(); },
  "?": () => help.showModal(),
  j: () => step(1),
  k: () => step(-1),
  g: () => { going = true; setTimeout(() => { going = false; }, 1500); },
};
window.sessionlogKeys = keys;

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.target.matches("input, select, textarea, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (going && PLACES[event.key]) {
    location.href = PLACES[event.key];
  } else if (event.key === "Enter" && event.target.matches("[data-item]:not(a, button, summary)")) {
    event.target.querySelector("a, summary, button")?.click();
  } else if (keys[event.key]) {
    event.preventDefault();
    keys[event.key](event);
  }
});

document.getElementById("help-button").addEventListener("click", () => help.showModal());

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = button.dataset.copy || button.parentElement.querySelector("pre, code").innerText;
  await navigator.clipboard.writeText(source);
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
});

// A select or a checkbox marked so sends its form by itself.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});
