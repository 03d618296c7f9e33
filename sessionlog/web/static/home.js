// The calendar is one stop for the tabulator; arrows go from day to day.
const days = [...document.querySelectorAll(".calendar a")];
const rows = [...document.querySelectorAll(".calendar tbody tr")];

function choose(link) {
  for (const day of days) day.tabIndex = day === link ? 0 : -1;
}

if (days.length) {
  const newest = days.reduce((last, day) => (day.closest("td").cellIndex >= last.closest("td").cellIndex ? day : last));
  choose(newest);
}

document.querySelector(".calendar")?.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = event.target.closest("td");
  if (!step || !cell) return;
  event.preventDefault();
  let row = rows.indexOf(cell.parentElement);
  let column = cell.cellIndex;
  for (;;) {  // over days on which nothing happened
    row += step[0];
    column += step[1];
    const next = rows[row]?.cells[column];
    if (!next) return;
    const link = next.querySelector("a");
    if (link) {
      choose(link);
      link.focus();
      return;
    }
  }
});
