// The number of rows of each audit is loaded when the list is shown: counting takes a while.
const list = document.querySelector("[data-counts]");

fetch(list.dataset.counts)
  .then((answer) => answer.json())
  .then((counts) => {
    for (const badge of list.querySelectorAll("[data-count]")) {
      const { rows, is_all: isAll, text, finding } = counts[badge.dataset.count];
      badge.textContent = text;
      badge.title = isAll ? `${text} rows` : "Counting all of them takes long; open it to see";
      if (finding && (rows || isAll)) badge.classList.add(rows ? "bad" : "good");
    }
  });
