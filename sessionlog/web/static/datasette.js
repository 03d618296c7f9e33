// Datasette's own pages: what assistive technology needs beside its templates.
// What a screen reader should say of fields that have no label of their own.
const LABELS = {
  "[name^=_filter_column]": "Column",
  "[name^=_filter_op]": "Comparison",
  "[name^=_filter_value]": "Value",
  "[name=_sort]": "Sort by",
  ".CodeMirror textarea": "SQL",
};

function label() {
  for (const [selector, text] of Object.entries(LABELS)) {
    for (const field of document.querySelectorAll(selector)) field.setAttribute("aria-label", text);
  }
  for (const box of document.querySelectorAll(".column-descriptions, .table-wrapper, pre")) box.tabIndex = 0;
}

addEventListener("load", () => setTimeout(label)); // the editor is made when all else is there
label();
