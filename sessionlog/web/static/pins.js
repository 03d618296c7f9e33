// Pins of a session: its button, and the key b for the entry that is marked, else for the session.
const form = document.querySelector("form.pin");
const button = form.querySelector("button");
const moments = new Set(form.dataset.moments.split(" ").filter(Boolean));

function mark() {
  for (const name of moments) document.getElementById(name)?.classList.add("pinned");
}

async function pin(moment, pinned) {
  const body = new URLSearchParams(new FormData(form));
  body.set("moment", moment);
  body.set("pinned", pinned ? "1" : "0");
  const answer = await fetch(form.action, { method: "POST", body, headers: { accept: "application/json" } });
  return answer.ok;
}

function showSession(pinned) {
  button.value = pinned ? "0" : "1";
  button.textContent = pinned ? "Pinned" : "Pin";
  button.setAttribute("aria-pressed", String(pinned));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const wanted = button.value === "1";
  if (await pin("", wanted)) showSession(wanted);
});

window.sessionlogKeys.b = async () => {
  const entry = document.activeElement?.closest("[id^=e], [id^=m]");
  if (!entry || !/^[em]\d+$/.test(entry.id)) {
    form.requestSubmit();
    return;
  }
  const wanted = !moments.has(entry.id);
  if (!await pin(entry.id, wanted)) return;
  if (wanted) moments.add(entry.id); else moments.delete(entry.id);
  entry.classList.toggle("pinned", wanted);
};

mark();
new MutationObserver(mark).observe(document.getElementById("main"), { childList: true, subtree: true });
