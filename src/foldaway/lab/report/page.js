for (const note of document.querySelectorAll(".scripted")) note.style.display = "inline";
for (const table of document.querySelectorAll("table.figures")) {
  const heads = table.tHead.rows[0].cells;
  [...heads].forEach((head, at) => {
    head.classList.add("sorts");
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") === "descending";
      for (const one of heads) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[at];
        if (!cell || cell.colSpan > 1) return null;
        if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
        const text = cell.textContent.trim();
        return text === "–" ? null : /^[\d,]+$/.test(text) ? Number(text.replaceAll(",", "")) : text;
      };
      const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}
