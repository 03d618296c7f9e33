// Before anything is painted: the colours that were chosen last, if any were; else those of the system.
const chosen = localStorage.getItem("sessionlog-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ||
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("sessionlog-theme", next);
  });
});
