"use strict";
// The page is complete without this script, which adds sorting, filters, hints that columns are hidden, and the command of each cell.
(() => {
  const number = /^\(?[−-]?\d+(\.\d+)?/;

  function key(row, column) {
    const text = row.cells[column].textContent.trim();
    const match = text.match(number);
    return match ? Number(match[0].replace("−", "-").replace("(", "")) : text;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, "en", {numeric: true});
  }

  function sort(table, column) {
    const heads = table.tHead.rows[0].cells;
    const down = heads[column].getAttribute("aria-sort") === "ascending";
    const body = table.tBodies[0];
    // Row labels are sorted as text, even if they begin with a number.
    const value = (row) => (column === 0 ? row.cells[0].textContent.trim() : key(row, column));
    const rows = Array.from(body.rows, (row) => [value(row), row]);
    rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
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

  // If all cells of a row share a source, it is an attribute of the row.
  function explain(details) {
    const cell = details.closest("td, th");
    if (!cell || details.querySelector(".again")) return;
    const row = cell.parentElement;
    const source = (cell.dataset.run ? cell : row).dataset;
    const box = document.createElement("div");
    const link = document.createElement("a");
    box.className = "spread again";
    link.href = "#" + encodeURI(cell.id || row.id);
    link.textContent = "Link to this " + (cell.id ? "cell" : "row");
    box.append(link);
    if (source.run) {
      const command = document.createElement("code");
      command.textContent = "pppca run " + source.run + " --fresh";
      box.append(". Compute it again: ", command, ". " + source.origin);
    }
    details.append(box);
  }

  // In a list, each row is a cell of the results.
  for (const row of document.querySelectorAll("tr[id][data-run]")) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.append(...row.cells[0].childNodes);
    details.append(summary);
    row.cells[0].append(details);
  }

  document.addEventListener("toggle", (event) => {
    if (event.target instanceof HTMLDetailsElement && event.target.open) explain(event.target);
  }, true);

  function hint() {
    for (const box of document.querySelectorAll(".scroll")) {
      const more = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("more", more);
      let text = box.previousElementSibling;
      if (!text || !text.classList.contains("hint")) {
        text = document.createElement("div");
        text.className = "hint";
        text.textContent = "Scroll for more columns \u2192";
        box.before(text);
      }
      text.hidden = !more;
    }
  }
  addEventListener("resize", hint);
  hint();

  function open() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
    if (target?.matches("td, tr")) target.querySelector("details")?.setAttribute("open", "");
  }
  addEventListener("hashchange", open);
  open();
})();
