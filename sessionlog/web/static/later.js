// Something is still being worked on: ask for this page again until it is done.
const wait = 1000;

async function again() {
  let shown;
  try {
    shown = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  } catch {
    setTimeout(again, 5 * wait);
    return;
  }
  const focused = document.activeElement?.id;
  const typed = document.activeElement?.value;
  document.querySelector("main").replaceWith(document.adoptNode(shown.querySelector("main")));
  document.dispatchEvent(new Event("replaced"));
  const field = focused && document.getElementById(focused);
  if (field) {
    if (typed !== undefined) field.value = typed;
    field.focus({ preventScroll: true });
  }
  if (document.querySelector("[data-later]")) setTimeout(again, wait);
}

if (document.querySelector("[data-later]")) setTimeout(again, wait);
