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
