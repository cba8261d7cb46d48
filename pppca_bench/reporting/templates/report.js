"use strict";
// The page is whole without this: it only adds sorting and filtering, and opens what a link leads to.
(() => {
  const number = /^\(?[−-]?\d+(\.\d+)?/;

  function key(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const found = cell.textContent.trim().match(number);
    return found ? Number(found[0].replace("−", "-").replace("(", "")) : cell.textContent.trim();
  }

  function compare(one, other) {
    const numbers = [one, other].map((value) => typeof value === "number");
    if (numbers[0] && numbers[1]) return one - other;
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    return one.localeCompare(other, "en", {numeric: true});
  }

  function sort(table, column) {
    const heads = table.tHead.rows[0].cells;
    const down = heads[column].getAttribute("aria-sort") === "ascending";
    const body = table.tBodies[0];
    // Labels of rows sort as texts, whatever number they begin with.
    const value = (row) => (column === 0 ? row.cells[0].textContent.trim() : key(row, column));
    const rows = Array.from(body.rows, (row) => [value(row), row]);
    rows.sort((one, other) => (down ? -1 : 1) * compare(one[0], other[0]));
    body.append(...rows.map((pair) => pair[1]));
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  }

  function addFilter(table) {
    const box = document.createElement("div");
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("span");
    box.className = "filter";
    input.type = "search";
    count.setAttribute("role", "status");
    label.append("Filter rows of " + table.dataset.filter + " ", input);
    box.append(label, count);
    table.closest(".scroll").before(box);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = words.length ? shown + " of " + table.tBodies[0].rows.length + " rows" : "";
    });
  }

  for (const table of document.querySelectorAll("table.data")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, column));
    });
    if (table.dataset.filter !== undefined) addFilter(table);
  }

  function open() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  }
  addEventListener("hashchange", open);
  open();
})();
