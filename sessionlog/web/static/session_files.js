// The files that a session changed: a file that is folded is asked for when it is opened.
import { ask, session, timeline } from "./session/server.js";
import { dress } from "./session/dress.js";
import { showDiffs, switchDiffs } from "./session/split.js";
import { showLanded } from "./session/landed.js";
import "./session/why.js";

timeline?.addEventListener("toggle", async (event) => {
  const file = event.target;
  if (!file.open || !file.matches(".file")) return;
  if (file.querySelector(".inside")) return showLanded(file);
  const query = new URLSearchParams({ path: file.dataset.path, part: "1" });
  file.insertAdjacentHTML("beforeend", await ask(`${session.dataset.base}/files?${query}`));
  dress(file);
  return showLanded(file);
}, { capture: true });

document.addEventListener("click", (event) => { if (event.target.id === "diff-switch") switchDiffs(timeline); });
window.sessionlogKeys.d = () => switchDiffs(timeline);
showDiffs();
if (timeline) {
  dress(timeline);
  // One after the other: a session may have changed many files.
  for (const file of timeline.querySelectorAll(".file[open]")) await showLanded(file);
}
