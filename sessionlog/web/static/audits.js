// How many rows each question finds is told when somebody looks at the list: counting takes a while.
const list = document.querySelector("[data-counts]");

fetch(list.dataset.counts)
  .then((answer) => answer.json())
  .then((counts) => {
    for (const badge of list.querySelectorAll("[data-count]")) {
      const { rows, finding } = counts[badge.dataset.count];
      badge.textContent = rows === null ? "many" : rows.toLocaleString("en");
      badge.title = rows === null ? "Counting takes long; open it to see" : `${badge.textContent} rows`;
      if (finding) badge.classList.add(rows === 0 ? "good" : "bad");
    }
  });
