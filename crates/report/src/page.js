(() => {
  "use strict";

  // A number with its unit, in the smallest one; text stays text, and what is missing comes last.
  const units = { "µs": 1, ms: 1e3, s: 1e6 };
  const value = (cell) => {
    const text = cell ? cell.textContent.trim().replace(/^\u003c/, "") : "";
    const found = text.replace(/,/g, "").match(/^([+-]?\d+(?:\.\d+)?)\s*(µs|ms|s)?/);
    if (found) return Number(found[1]) * (units[found[2]] || 1);
    return text === "–" || text === "" ? null : text;
  };
  const compare = (a, b, direction) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" ? typeof b === "number" : false) return (a - b) * direction;
    return String(a).localeCompare(String(b)) * direction;
  };

  // A click on a heading sorts its table, the next one the other way round, and the third restores the order.
  const sortable = (table) => {
    const body = table.tBodies[0];
    const order = Array.from(body.rows);
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const was = head.getAttribute("aria-sort");
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        const next = was === null ? "ascending" : was === "ascending" ? "descending" : null;
        const direction = next === "descending" ? -1 : 1;
        const rows = Array.from(order);
        if (next) {
          head.setAttribute("aria-sort", next);
          rows.sort((a, b) => compare(value(a.cells[column]), value(b.cells[column]), direction));
        }
        table.classList.toggle("sorted", next !== null);
        body.append(...rows);
      });
    });
  };
  document.querySelectorAll("table.sortable").forEach(sortable);

  // Values of a plot or a cell beside the pointer, or where it was touched, at once and on every device.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  document.querySelectorAll("figure svg title").forEach((title) => {
    title.parentNode.setAttribute("data-tip", title.textContent);
    title.remove();
  });
  document.querySelectorAll("td[title]").forEach((cell) => {
    cell.setAttribute("data-tip", cell.title);
    cell.removeAttribute("title");
  });
  const show = (event) => {
    const over = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = over === null;
    if (over === null) return;
    tip.textContent = over.getAttribute("data-tip");
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, room)) + "px";
    const below = event.clientY + 18;
    const fits = window.innerHeight - tip.offsetHeight - 8 >= below;
    tip.style.top = (fits ? below : event.clientY - tip.offsetHeight - 10) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, true);
})();
