// Texts that are shown in part: more of them, a piece at a time.
import { recount } from "./timeline.js";

const PIECE = 200000;

export async function showMore(link) {
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
  recount(block);
  const left = Number(response.headers.get("x-left") ?? 0);
  if (!left) {
    link.parentElement.remove();
    return;
  }
  link.dataset.from = from + PIECE;
  link.textContent = `Show more: ${Math.ceil(left / 1000).toLocaleString("en")} KB are left`;
  if (!link.nextElementSibling) {
    const whole = Object.assign(document.createElement("a"), { href: link.href, textContent: "all as plain text", target: "_blank" });
    link.after(" · ", whole);
  }
}
