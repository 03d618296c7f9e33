// What scripts add to a block: side-by-side diffs, buttons to copy code, and what somebody opened or folded before.
const folds = new Map(); // the id of what was opened or folded by hand -> whether it is open

export const isSplit = () => document.documentElement.dataset.diff === "split";

export function remember(id, open) {
  folds.set(id, open);
}

export function dress(root) {
  for (const details of root.querySelectorAll("details[id]")) {
    if (folds.has(details.id) && details.open !== folds.get(details.id)) details.open = folds.get(details.id);
  }
  for (const block of root.querySelectorAll(".markdown > pre.code")) {
    const frame = Object.assign(document.createElement("div"), { className: "terminal" });
    const button = Object.assign(document.createElement("button"), { className: "link", type: "button", textContent: "copy" });
    button.dataset.copy = "";
    block.replaceWith(frame);
    frame.append(block, button);
  }
  splitDiffs(root);
}

// Side by side, unchanged lines stand on both sides.
export function splitDiffs(root) {
  for (const same of root.querySelectorAll(".diff:not(.only-new) .same")) {
    const copy = same.querySelector(":scope > .old");
    if (isSplit() && !copy) {
      const old = same.firstElementChild.cloneNode(true);
      old.className = "old";
      old.setAttribute("aria-hidden", "true");
      same.prepend(old);
    } else if (!isSplit() && copy) {
      copy.remove();
    }
  }
}
