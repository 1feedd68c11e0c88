// Three maps of one value side by side: theirs, what it should be, and the difference; with one scale of colours, and one
// place that is looked at. Below them the entries that are farthest off.

import { tokenText } from "./chart.js";
import { makeScale } from "./colours.js";
import { fill, h } from "./dom.js";
import { Heat } from "./heat.js";
import { number } from "./histogram.js";
import { legend } from "./legend.js";
import { compared } from "./check_data.js";
import { short } from "./number.js";
import { layout, plane } from "./plane.js";
import { statistics, typical } from "./statistics.js";
import { steppers } from "./steppers.js";
import { cellHref, cellName, parsePlace, placeText } from "./walk.js";

const SIDES = ["theirs", "right", "difference"];
const FAR = 100; // numbers so many times larger than the right ones don't set the scale
const SMALL = 20; // so many times smaller a difference has a scale of its own
const FARTHEST = 8;

export class Maps {
  constructor(context, value, entry, arrays) {
    Object.assign(this, { context, value, entry, arrays, path: value.path, t: context.t, wider: 1 });
    this.layout = layout(entry.axes, entry.shape);
    this.heats = SIDES.map((side) => this.heat(side));
    this.steps = h("div", { class: "value-steps" });
    this.scales = SIDES.map(() => h("div", { class: "check-scale" }));
    this.arithmetic = h("p", { class: "check-arithmetic" });
    this.element = h(
      "div",
      { class: "check-both" },
      this.steps,
      this.scales[0],
      h("div", { class: "check-maps" }, SIDES.map((side, at) => h("section", { class: "check-map", "data-side": side, "aria-label": this.t(`check.map.${side}`) }, h("h3", null, this.t(`check.map.${side}`)), this.heats[at].element, at ? this.scales[at] : null))),
      this.arithmetic,
      this.farthest(),
    );
  }

  heat(side) {
    const { t, context, value } = this;
    const others = () => this.heats.filter((heat) => heat !== this.heats[SIDES.indexOf(side)]);
    return new Heat({
      label: `${t(`check.map.${side}`)}: ${value.path}`,
      help: { role: t("value.map.role"), keys: t("check.map.keys") },
      signal: context.signal,
      on: {
        hover: (cell) => others().forEach((heat) => heat.echo(cell)),
        cursor: (...cell) => {
          others().forEach((heat) => heat.move(...cell, false));
          context.announce(SIDES.map((one, at) => `${t(`check.map.${one}`)} ${short(this.heats[at].number(...cell))}`).join(", "));
          this.tell();
        },
        open: (...cell) => context.change({ at: placeText(this.placeOf(...cell)) }),
        window: (edges) => {
          for (const heat of others()) {
            edges ? heat.zoom.show(edges) : heat.zoom.fit();
            heat.later();
          }
        },
        describe: (row, column) => `${cellName(value.path, this.placeOf(row, column))} = ${short(this.heats[SIDES.indexOf(side)].number(row, column), 6)}`,
        theme: () => side === SIDES[0] && this.paint(),
      },
    });
  }

  // Reads how large the numbers are, and draws.
  async load(query) {
    const { signal } = this.context;
    this.found = await Promise.all(SIDES.map((side) => statistics(this.arrays[side].data, signal)));
    const [theirs, right, difference] = this.found.map(({ min, max }) => Math.max(Math.abs(min), Math.abs(max)) || 0);
    const usual = ["theirs", "right"].map((side, at) => typical(this.arrays[side].data, this.found[at]));
    this.limit = right > 0 && theirs > FAR * right ? usual[1] : right > 0 || theirs > 0 ? Math.max(...usual.filter((_, at) => [theirs, right][at] > 0)) : 1;
    this.own = difference > 0 && difference < this.limit / SMALL ? difference : null;
    this.full = [Math.max(theirs, right), Math.max(theirs, right), difference];
    this.kind = this.found.some(({ min }) => min < 0) ? "diverging" : "sequential";
    this.place(query);
  }

  // Puts all maps where the address says, or where the numbers are farthest apart.
  place(query) {
    const { entry, context, value } = this;
    const { shape } = this.arrays.right;
    const farthest = compared(value)?.place ?? [];
    this.at = parsePlace(query.at, shape) ?? (farthest.length === shape.length ? farthest : shape.map(() => 0));
    fill(this.steps, steppers(context, entry, this.layout, this.at, { step: (axis, place) => context.change({ at: placeText(this.at.with(axis, place)) }) }));
    this.paint(true);
  }

  paint(moved = false) {
    if (!this.at) {
      return;
    }
    const { rows, columns } = this.layout;
    const edge = (axis) => axis === null ? null : this.edge(axis);
    const cursor = moved ? [rows === null ? 0 : this.at[rows], columns === null ? 0 : this.at[columns]] : undefined;
    SIDES.forEach((side, at) => {
      const own = at === 2 ? this.own : null;
      const scale = makeScale(this.kind, own ?? this.limit * this.wider);
      const shown = { plane: plane(this.arrays[side], rows, columns, this.at), mask: null, scale, rows: edge(rows), columns: edge(columns), key: `${side} ${this.at.join()}` };
      this.heats[at].show(shown, cursor ? { cursor, reveal: true } : {});
      const steps = { narrower: () => this.rescale(0.5), wider: () => this.rescale(2), reset: () => this.rescale(1 / this.wider) };
      if (at === 0) {
        const seen = { hidden: this.found.some(({ hidden }) => hidden), nan: this.found.some(({ nan }) => nan) };
        fill(this.scales[0], legend(scale, seen, { masked: false, full: this.full[0], usual: this.limit }, this.t, steps));
      } else if (at === 2) {
        fill(this.scales[2], h("p", { class: "soft", "data-own-scale": own === null ? "no" : "yes" }, own === null ? this.t("check.scale.same") : [this.t("check.scale.own"), " ", number(own)]));
      }
    });
    this.tell();
  }

  rescale(factor) {
    this.wider *= factor;
    const focused = document.activeElement?.dataset.action;
    this.paint();
    if (focused?.startsWith("scale-")) {
      this.scales[0].querySelector(`[data-action=${focused}]`)?.focus();
    }
  }

  edge(axis) {
    const letter = this.entry.axes[axis] ?? "";
    const text = (place) => tokenText(this.context.trace, this.entry, letter, place, this.at);
    return { letter, size: this.arrays.right.shape[axis], text: text(0) === null ? null : text };
  }

  placeOf(row, column) {
    const { rows, columns } = this.layout;
    return this.at.map((at, axis) => (axis === rows ? row : axis === columns ? column : at));
  }

  // The way to the arithmetic of the entry that is looked at.
  tell() {
    const place = this.placeOf(...this.heats[0].cursor);
    const href = this.context.trace.has(this.path) ? cellHref(this.context, this.path, place) : null;
    fill(this.arithmetic, href ? h("a", { href, "data-action": "arithmetic" }, this.t("check.arithmetic", { cell: cellName(this.path, place) })) : null);
  }

  // The entries that are farthest off, as a table.
  farthest() {
    const { t, arrays } = this;
    const { data, shape, strides } = arrays.difference;
    const size = (at) => (Number.isNaN(data[at]) ? Infinity : Math.abs(data[at]));
    const best = [];
    for (let at = 0; at < data.length; at += 1) {
      if (size(at) > 0 && (best.length < FARTHEST || size(at) > size(best.at(-1)))) {
        best.push(at);
        best.sort((one, other) => size(other) - size(one) || one - other);
        best.length = Math.min(best.length, FARTHEST);
      }
    }
    const row = (at) => {
      const place = shape.map((length, axis) => Math.floor(at / strides[axis]) % length);
      const cell = h("a", { class: "mono", href: this.context.href("check", this.path, { at: placeText(place) }) }, place.join(", ") || "–");
      return h("tr", null, h("th", { scope: "row" }, cell), SIDES.map((side) => h("td", null, number(arrays[side].data[at]))));
    };
    const head = [this.entry.axes.join(", ") || t("check.place"), ...SIDES.map((side) => t(`check.map.${side}`))];
    const table = h("table", { class: "table number", "data-farthest": "" }, h("caption", { class: "soft" }, t("check.farthest")), h("thead", null, h("tr", null, head.map((name) => h("th", { scope: "col" }, name)))), h("tbody", null, best.map(row)));
    return best.length ? h("div", { class: "scroll-x" }, table) : null;
  }
}
