// From a line of a diff to the edits that brought it: a click on its number, or the arrows and Enter.
function line(element) {
  return element.closest?.("[data-why] .ln") ?? null;
}

function ask(of) {
  const text = of.textContent.trim();
  const address = of.closest("[data-why]").dataset.why;
  if (text && address) location.href = `${address}&line=${encodeURIComponent(text.slice(0, 1000))}`;
}

document.addEventListener("click", (event) => {
  if (event.target.matches?.("[data-why] .ln")) ask(event.target);
});

document.addEventListener("pointerover", (event) => {
  const found = line(event.target);
  if (found && !found.title) found.title = "Click on the number: why is this line here?";
});

document.addEventListener("keydown", (event) => {
  const diff = event.target.matches?.("[data-why] .diff") ? event.target : null;
  if (!diff || !["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) return;
  const lines = [...diff.querySelectorAll(".ln")];
  const chosen = lines.findIndex((one) => one.classList.contains("chosen"));
  event.preventDefault();
  if (event.key === "Enter") {
    if (chosen >= 0) ask(lines[chosen]);
    return;
  }
  const next = lines[Math.max(0, Math.min(lines.length - 1, chosen + (event.key === "ArrowDown" ? 1 : -1)))];
  lines[chosen]?.classList.remove("chosen");
  next.classList.add("chosen");
  next.scrollIntoView({ block: "nearest" });
});
