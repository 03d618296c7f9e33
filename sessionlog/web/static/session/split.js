// Diffs in one column or side by side: remembered by the browser.
import { isSplit, splitDiffs } from "./dress.js";

export function showDiffs() {
  document.documentElement.dataset.diff = localStorage.getItem("sessionlog-diff") === "split" ? "split" : "unified";
  const button = document.getElementById("diff-switch");
  if (!button) return;
  button.hidden = false;
  button.setAttribute("aria-pressed", isSplit());
}

export function switchDiffs(root) {
  localStorage.setItem("sessionlog-diff", isSplit() ? "unified" : "split");
  showDiffs();
  splitDiffs(root);
}
