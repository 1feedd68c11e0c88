// One array of the trace as it is looked at: a map of two of its axes, its scale of colours, small maps of
// a third axis, a table. The views put it together with what belongs around it.

import { makeScale } from "./colours.js";
import { fill, h } from "./dom.js";
import { Heat } from "./heat.js";
import { legend } from "./legend.js";
import { Multiples } from "./multiples.js";
import { last } from "./names.js";
import { short, whole } from "./number.js";
import { hides, maskPlane, plane } from "./plane.js";
import { statistics, typical } from "./statistics.js";
import { tableBox } from "./table.js";
import { label } from "./ticks.js";
import { tokenLabel } from "./token_text.js";
import { parseWindow, windowText } from "./zoom.js";

const TOKENS = /(^|\.)(tokens|targets|source)$/;

export class Chart {
  // on: {open(place), window(text or null), limit(number or null), pick(axis, place)}
  constructor(context, entry, on, { compact = true } = {}) {
    const { t, signal } = context;
    Object.assign(this, { context, entry, on, t });
    this.heat = new Heat({
      label: t("value.map.label", { path: entry.path, shape: shapeText(entry) || "1" }),
      help: { role: t("value.map.role"), keys: t("value.map.keys") },
      signal,
      on: {
        open: (...cell) => on.open?.(this.place(...cell)),
        cursor: (...cell) => context.announce(this.spoken(...cell)),
        window: (cells) => {
          this.window = cells ? windowText(cells) : null;
          this.table.refresh();
          on.window?.(this.window);
        },
        describe: (...cell) => this.described(...cell),
        key: (event) => this.key(event),
        theme: () => this.paint(),
      },
    });
    this.table = tableBox(this.heat, t);
    this.scaleBox = h("div", { class: "chart-scale" });
    this.note = h("p", { class: "soft chart-note" });
    this.small = new Multiples(context, (place) => on.pick?.(this.layout.many, place), compact);
    const zoom = (sign, name, act) =>
      h("button", { type: "button", class: "button small", "data-action": name, title: t(`value.${name}`), "aria-label": t(`value.${name}`), onclick: act }, sign);
    this.tools = h(
      "div",
      { class: "chart-tools", role: "group", "aria-label": t("value.zoom") },
      zoom("\u2212", "zoom-out", () => this.heat.step(1 / 1.6)),
      zoom("+", "zoom-in", () => this.heat.step(1.6)),
      zoom("\u2922", "zoom-fit", () => this.heat.fit()),
    );
    this.element = h(
      "section",
      { class: "chart", "data-chart": entry.path, "data-kind": entry.kind, "aria-label": entry.path },
      this.small.element,
      h("div", { class: "chart-bar" }, this.scaleBox, this.tools),
      this.heat.element,
      this.note,
      this.table.element,
      h("details", { class: "numbers-table", "data-keys": "" }, h("summary", null, t("value.keys")), h("p", { class: "soft" }, t("value.map.keys")), h("p", { class: "soft" }, t("value.view.keys"))),
    );
  }

  // Reads the numbers, what they are like, and which of them the layer's mask hides.
  async load() {
    const { trace, signal } = this.context;
    this.array = await trace.array(this.entry.path);
    this.found = await statistics(this.array.data, signal);
    this.usual = typical(this.array.data, this.found);
    const { scope, axes } = this.entry;
    const mask = scope ? trace.entry(`${scope}.mask`) : null;
    if (mask && mask.path !== this.entry.path && trace.has(mask.path) && "ts".split("").every((x) => axes.includes(x))) {
      this.mask = { entry: mask, array: await trace.array(mask.path) };
    }
  }

  // The axis `axis` as a map's edge shows it; null where there is none.
  axis(axis) {
    if (axis === null) {
      return null;
    }
    const letter = this.entry.axes[axis];
    const text = (place) => tokenText(this.context.trace, this.entry, letter, place, this.at);
    const worded = this.array.shape[axis] > 0 && text(0) !== null;
    return { letter, size: this.array.shape[axis], text: worded ? text : null };
  }

  // at: a place on every axis; window: text of the address or null; limit: of the colours, null for the largest magnitude.
  // cursor: a place too, null leaves it where it is; open: whether it is explained, and so kept in view.
  show({ layout, at, window, limit, cursor, open }) {
    const { rows, columns } = layout;
    const first = !this.layout;
    Object.assign(this, { layout, limit, at: this.array.shape.map((size, axis) => Math.min(at?.[axis] ?? 0, size - 1)) });
    this.rows = this.axis(rows);
    this.columns = this.axis(columns);
    this.open = Boolean(open);
    this.cell = cursor ? [rows === null ? 0 : cursor[rows], columns === null ? 0 : cursor[columns]] : undefined;
    const asked = first || window !== (this.window ?? null) ? parseWindow(window) : undefined;
    this.window = window ?? null;
    this.paint(asked);
  }

  plane(at = this.at) {
    return plane(this.array, this.layout.rows, this.layout.columns, at);
  }

  maskAt(at) {
    const { entry, array } = this.mask ?? {};
    return entry ? maskPlane(array, entry.axes, this.entry, this.layout.rows, this.layout.columns, at) : null;
  }

  get full() {
    return Math.max(Math.abs(this.found.min), Math.abs(this.found.max)) || 1;
  }

  paint(window) {
    if (!this.layout) {
      return;
    }
    const { min } = this.found;
    this.scale = makeScale(min < 0 ? "diverging" : "sequential", this.limit ?? this.usual);
    const mask = this.maskAt(this.at);
    const key = this.at.join();
    this.heat.show(
      { plane: this.plane(), mask, scale: this.scale, rows: this.rows, columns: this.columns, key },
      { cursor: this.cell ?? this.heat.cursor, window, reveal: this.open },
    );
    this.heat.stage.dataset.path = this.entry.path;
    const steps = { narrower: () => this.rescale(0.5), wider: () => this.rescale(2), reset: () => this.on.limit?.(null) };
    const kept = document.activeElement?.dataset.action;
    fill(this.scaleBox, legend(this.scale, this.found, { masked: mask !== null && hides(mask), full: this.full, usual: this.usual }, this.t, steps));
    if (kept?.startsWith("scale-")) {
      this.scaleBox.querySelector(`[data-action=${kept}]`)?.focus();
    }
    const merged = this.heat.zoom.across < 1 || this.heat.zoom.down < 1;
    this.note.textContent = merged ? this.t("value.merged") : "";
    this.small.show(this);
    this.table.refresh();
  }

  rescale(factor) {
    const next = (this.limit ?? this.usual) * factor;
    const within = Math.min(next, this.full);
    this.on.limit?.(within === this.usual ? null : within);
    return true;
  }

  key(event) {
    const keys = { "[": 0.5, "]": 2 };
    return event.key in keys && this.rescale(keys[event.key]);
  }

  // The place of a cell on every axis.
  place(row, column) {
    const { rows, columns } = this.layout;
    return this.at.map((at, axis) => (axis === rows ? row : axis === columns ? column : at));
  }

  described(row, column) {
    const x = this.heat.number(row, column);
    const place = this.place(row, column);
    const where = [this.rows, this.columns]
      .map((axis, at) => axis?.text && `${axis.letter} ${quoted(axis.text(at ? column : row))}`)
      .filter(Boolean);
    const hidden = this.heat.hidden(row, column) ? this.t("value.hidden") : null;
    const more = [short(x) === whole(x) ? null : `(${whole(x)})`, meaning(this.context.trace, this.entry, x), ...where, hidden];
    const left = place.length ? `${last(this.entry.path)}[${place.join(",")}]` : last(this.entry.path);
    return [`${left} = ${short(x)}`, ...more.filter(Boolean)].join("   ");
  }

  spoken(row, column) {
    const part = (axis, place) => axis && `${axis.letter} ${place}${axis.text ? ` ${label(axis, place, 40)}` : ""}`;
    const hidden = this.heat.hidden(row, column) ? this.t("value.hidden") : null;
    const where = [part(this.rows, row), part(this.columns, column)].filter(Boolean).join(", ");
    return [`${where}: ${short(this.heat.number(row, column))}`, hidden].filter(Boolean).join(", ");
  }
}

// The token that an entry of `tokens`, say, stands for.
export function meaning(trace, entry, x) {
  const text = TOKENS.test(entry.path) ? trace.manifest.vocabulary?.[x] : null;
  return text === null || text === undefined ? null : quoted(text);
}

function quoted(text) {
  return text === null || text === undefined ? "" : `\u201c${tokenLabel(text)}\u201d`;
}

// The text at a place of an axis of a value, seen with the others at `at`.
export function tokenText(trace, entry, letter, place, at = []) {
  const batch = entry.axes.indexOf("b");
  return trace.tokenText(letter, place, batch < 0 ? 0 : (at[batch] ?? 0), entry.path) ?? null;
}

// "b 1 × h 2 × t 5": the axes with their sizes.
export function shapeText(entry) {
  return entry.shape.map((size, axis) => `${entry.axes[axis] ?? ""} ${size}`.trim()).join(" \u00d7 ");
}
