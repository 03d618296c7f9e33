// The command palette: Ctrl+K, a few letters, Enter. What it offers comes from /-/palette.
const WAIT = 120; // ms after the last letter
let palette, field, list, asking, timer;

function made(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function build() {
  list = made("div", { id: "palette-list", role: "listbox", "aria-label": "Where to go" });
  field = made("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", autocomplete: "off",
    "aria-autocomplete": "list", "aria-label": "Go to", placeholder: "Go to a session, file, audit or page", spellcheck: "false",
  });
  palette = made("dialog", { id: "palette", "aria-label": "Go to" }, field, list);
  document.body.append(palette);
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, WAIT); });
  field.addEventListener("keydown", press);
  list.addEventListener("click", (event) => { if (event.target.closest("a")) palette.close(); });
  palette.addEventListener("click", (event) => { if (event.target === palette) palette.close(); });
}

async function ask() {
  asking?.abort();
  asking = new AbortController();
  try {
    const answer = await fetch(`/-/palette?q=${encodeURIComponent(field.value)}`, { signal: asking.signal });
    if (answer.ok) show(await answer.json());
  } catch (error) {
    if (error.name !== "AbortError") list.replaceChildren(made("p", { class: "quiet" }, "The server does not answer."));
  }
}

function show(groups) {
  let number = 0;
  list.replaceChildren(...groups.map(({ title, items }, place) => made("div", { role: "group", "aria-labelledby": `palette-${place}` },
    made("div", { class: "quiet small", id: `palette-${place}`, role: "presentation" }, title),
    ...items.map(({ label, detail, href }) => made("a", { id: `palette-item-${number++}`, role: "option", href, tabindex: "-1", "aria-selected": "false" },
      made("span", {}, label), made("span", { class: "quiet small" }, detail))))));
  choose(0);
}

function choose(number) {
  const all = [...list.querySelectorAll("[role=option]")];
  if (!all.length) return;
  const chosen = all[(number + all.length) % all.length];
  for (const one of all) one.setAttribute("aria-selected", String(one === chosen));
  field.setAttribute("aria-activedescendant", chosen.id);
  chosen.scrollIntoView({ block: "nearest" });
}

function press(event) {
  const all = [...list.querySelectorAll("[role=option]")];
  const now = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    choose(now + (event.key === "ArrowDown" ? 1 : -1));
  } else if (event.key === "Enter") {
    event.preventDefault();
    all[now]?.click();
  }
}

function open() {
  if (!palette) build();
  if (palette.open) return;
  field.value = "";
  list.replaceChildren();
  palette.showModal();
  field.focus();
  ask();
}

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    open();
  }
});
document.getElementById("palette-button")?.addEventListener("click", open);
