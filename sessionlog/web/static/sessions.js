// On a phone there is little room for filters: they come when asked for.
const filters = document.getElementById("filters");
const opener = document.getElementById("more-filters");
if (matchMedia("(max-width: 860px)").matches && !("used" in filters.dataset)) {
  filters.hidden = true;
  opener.hidden = false;
  opener.addEventListener("click", () => {
    filters.hidden = !filters.hidden;
    opener.setAttribute("aria-expanded", String(!filters.hidden));
  });
}

// When the end of the list comes near, the next rows are already on their way.
const body = document.getElementById("rows");
const told = document.getElementById("told");

async function more(row) {
  const link = row.querySelector("a");
  const response = await fetch(`${link.href}&rows=1`);
  if (!response.ok) return;  // the link is still there to be pressed
  const before = body.querySelectorAll("[data-item]").length;
  const focused = row.contains(document.activeElement);
  row.insertAdjacentHTML("afterend", await response.text());
  const first = row.nextElementSibling;
  row.remove();
  told.textContent = `${body.querySelectorAll("[data-item]").length - before} more sessions`;
  if (focused) first?.querySelector("a")?.focus();
  watch();
}

const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      observer.unobserve(entry.target);
      more(entry.target);
    }
  }
}, { rootMargin: "0px 0px 1200px 0px" });

function watch() {
  const next = body?.querySelector("tr.next");
  if (next) observer.observe(next);
}

watch();
