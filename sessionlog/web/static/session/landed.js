// In which commit each hunk landed. Git is asked once a file is open, and the page does not wait for it.
import { ask, session } from "./server.js";

function label(one) {
  const element = document.createElement(one.href ? "a" : "span");
  element.className = "landed";
  element.textContent = one.text;
  if (one.href) element.href = one.href;
  return element;
}

export async function showLanded(file) {
  const inside = file.querySelector(".inside");
  if (!inside || inside.dataset.landed) return;
  inside.dataset.landed = "asked";
  const query = new URLSearchParams({ path: file.dataset.path, landed: "1" });
  const pieces = JSON.parse(await ask(`${session.dataset.base}/files?${query}`));
  const diffs = [...inside.querySelectorAll(".made-by")].map((list) => {
    const before = list.previousElementSibling;
    return before?.matches(".diff") ? before : before?.previousElementSibling;
  });
  pieces.forEach((hunks, at) => {
    const diff = diffs[at];
    if (!diff?.matches(".diff")) return;
    const heads = [...diff.querySelectorAll(":scope > .hunk")];
    if (heads.length < hunks.length) {  // the first hunk has no head where the numbers say where it is
      const head = document.createElement("div");
      head.className = "hunk";
      if (hunks[0]) diff.prepend(head);
      heads.unshift(head);
    }
    hunks.forEach((one, number) => { if (one) heads[number]?.append(" ", label(one)); });
  });
  inside.dataset.landed = "shown";
}
