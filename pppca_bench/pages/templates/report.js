"use strict";
// The page is complete without this script, which adds sorting, buttons that copy commands, and shadows where a box
// scrolls.
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

  for (const table of document.querySelectorAll("table.data")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, column));
    });
  }

  for (const box of document.querySelectorAll(".scroll")) {
    const mark = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.addEventListener("scroll", mark);
    new ResizeObserver(mark).observe(box);
  }

  for (const command of document.querySelectorAll("code.command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    command.after(" ", button);
    // The clipboard interface is missing on pages that are opened from a file.
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(command);
      if (document.execCommand("copy")) button.textContent = "Copied";
    });
  }
})();
