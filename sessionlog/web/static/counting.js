// Events are counted for the first time: say how far that is, and show the page anew when it is done.
const wait = 1000;

async function look() {
  try {
    const response = await fetch("/-/counting");
    if (response.status === 204) {
      // Not under the hands of somebody who types.
      if (!document.activeElement?.matches("input, select")) location.reload();
      else document.getElementById("counting").innerHTML = '<p>All events are counted. <a href="">Look again</a></p>';
      return;
    }
    if (response.ok) document.getElementById("counting").outerHTML = await response.text();
  } catch {
    // The server is away. It may come back.
  }
  setTimeout(look, wait);
}

setTimeout(look, wait);
