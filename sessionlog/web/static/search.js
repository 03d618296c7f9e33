// On this page / leads to the question itself.
window.sessionlogKeys["/"] = () => {
  const question = document.getElementById("question");
  question.focus();
  question.select();
};

// What is empty does not go into the address.
const ask = document.querySelector(".ask");
ask.addEventListener("submit", () => {
  for (const field of ask.elements) if (field.name && !field.value) field.disabled = true;
});
addEventListener("pageshow", () => {
  for (const field of ask.elements) field.disabled = false;
});

// On a phone the hits come first: filters are a line that opens.
function fold() {
  if (!matchMedia("(max-width: 760px)").matches) return;
  for (const facet of document.querySelectorAll("#facets details")) facet.open = false;
}
fold();
document.addEventListener("replaced", fold); // by later.js
