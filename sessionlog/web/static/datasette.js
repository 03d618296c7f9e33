// Datasette's own pages get the menu and the colours of ours. Without this script its own small menu leads back.
const colours = localStorage.getItem("sessionlog-theme");
if (colours) document.documentElement.dataset.theme = colours;

function made(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// What a screen reader should say of fields that have no label of their own.
const LABELS = {
  "[name^=_filter_column]": "Column",
  "[name^=_filter_op]": "Comparison",
  "[name^=_filter_value]": "Value",
  "[name=_sort]": "Sort by",
  ".CodeMirror textarea": "SQL",
};

function label() {
  document.documentElement.lang = "en";
  for (const [selector, text] of Object.entries(LABELS)) {
    for (const field of document.querySelectorAll(selector)) field.setAttribute("aria-label", text);
  }
  for (const box of document.querySelectorAll(".column-descriptions, .table-wrapper, pre")) box.tabIndex = 0;
}

addEventListener("load", () => setTimeout(label)); // the editor is made when all else is there

addEventListener("DOMContentLoaded", () => {
  label();
  const links = [...document.querySelectorAll(".nav-menu-inner a")];
  if (!links.length) return;
  const nav = made("nav", { "aria-label": "Pages" });
  for (const { href, textContent } of links) {
    const here = textContent === "Tables" ? { "aria-current": "page" } : {};
    nav.append(made("a", { href, ...here }, textContent), " ");
  }
  const find = made("input", {
    id: "find", type: "search", name: "q", placeholder: "Search everything", "aria-label": "Search everything",
  });
  const form = made("form", { class: "find", role: "search", action: "/-/search" }, find, made("kbd", { "aria-hidden": "true" }, "/"));
  document.body.prepend(made("header", { class: "top" }, made("a", { class: "brand", href: "/" }, "sessionlog"), nav, form));
  document.documentElement.classList.add("framed");
  addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, select, textarea, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      find.focus();
    }
  });
});
