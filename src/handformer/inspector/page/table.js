// The part of a map that is seen, as a table: for those who read rather than look, and for copying.

import { fill, h } from "./dom.js";
import { number } from "./histogram.js";
import { label } from "./ticks.js";

const [ROWS, COLUMNS] = [24, 12];

// A closed box that makes its table when it is opened, and again when `refresh` is called.
export function tableBox(heat, t) {
  const inside = h("div", { class: "scroll-x" });
  const box = h(
    "details",
    { class: "numbers-table", "data-table": "numbers", ontoggle: () => refresh() },
    h("summary", null, t("value.table")),
    inside,
  );
  const refresh = () => {
    if (box.open && heat.shown) {
      fill(inside, table(heat, t));
    }
  };
  return { element: box, refresh };
}

function range(first, last, most, cursor) {
  const start = last - first + 1 <= most ? first : Math.min(Math.max(first, cursor - (most >> 1)), last + 1 - most);
  return Array.from({ length: Math.min(most, last - first + 1) }, (_, at) => start + at);
}

function table(heat, t) {
  const { rows, columns } = heat.shown;
  const { top, left, bottom, right } = heat.zoom.seen();
  const down = range(top, bottom, ROWS, heat.cursor[0]);
  const across = range(left, right, COLUMNS, heat.cursor[1]);
  const letters = [rows?.letter, columns?.letter].filter(Boolean).join(" \\ ");
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, letters),
    across.map((column) => h("th", { scope: "col" }, columns ? label(columns, column) : "")),
  );
  const body = down.map((row) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, rows ? label(rows, row) : ""),
      across.map((column) => {
        const hidden = heat.hidden(row, column);
        const props = { class: hidden ? "is-hidden" : null, "data-cell": `${row},${column}` };
        return h("td", props, number(heat.number(row, column)), hidden ? h("span", { class: "visually-hidden" }, ` ${t("value.hidden")}`) : null);
      }),
    ),
  );
  const caption = h("caption", { class: "soft" }, t("value.table.caption", { rows: `${down[0]}\u2013${down.at(-1)}`, columns: `${across[0]}\u2013${across.at(-1)}` }));
  return h("table", { class: "table number" }, caption, h("thead", null, head), h("tbody", null, body));
}
