// Datasette's own pages get the menu and the colours of ours. Without this script its own small menu leads back.
const colours = localStorage.getItem("sessionlog-theme");
if (colours) document.documentElement.dataset.theme = colours;

function made(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

addEventListener("DOMContentLoaded", () => {
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
