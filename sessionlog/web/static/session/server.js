// What is asked of the server: parts of the session as HTML. Its templates have escaped whatever was recorded.
export const session = document.getElementById("session");
export const timeline = document.getElementById("timeline");

export async function ask(address) {
  const response = await fetch(address, { headers: { "x-requested-with": "fetch" } });
  if (response.status === 204) return null;
  if (!response.ok) throw new Error(`${response.status} for ${address}`);
  return response.text();
}

// A document to take pieces from, without what is for those who have no scripts.
export function parsed(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const element of page.querySelectorAll("noscript")) element.remove();
  return page;
}

// The same address with another end: …/session/db/id?kind=x becomes …/session/db/id/part?kind=x
export function beside(address, end) {
  const url = new URL(address, location.href);
  return `${url.pathname}/${end}${url.search}`;
}

// An address of this session with the filters that are on, and more.
export function withFilters(end, more = {}) {
  const query = new URLSearchParams(session.dataset.query);
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return `${session.dataset.base}${end}?${query}`;
}
