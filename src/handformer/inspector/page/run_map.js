// The norms of the parts' gradients as a map: a row a part, from the tokens to the loss, a column an update that
// was logged. Colours follow the logarithm: norms of different parts lie powers of ten apart.

import { colourOf, css, makeScale } from "./colours.js";
import { fill, h } from "./dom.js";
import { short, whole } from "./number.js";
import { listen } from "./run_listen.js";

const ROW = 18; // pixels
const [PALEST, DARKEST] = [0.12, 1]; // parts of the colour scale: the smallest norm isn't the paper's colour
const STEPS = 24; // of the legend

export class PartsMap {
  constructor(context) {
    Object.assign(this, { context, t: context.t, cell: null });
    this.canvas = h("canvas", { class: "run-map", role: "img", tabindex: "0", "aria-describedby": "run-map-keys" });
    this.names = h("div", { class: "run-map-names", "aria-hidden": "true" });
    this.where = h("p", { class: "run-where number" });
    this.scale = h("div", { class: "run-map-scale" });
    this.ends = h("div", { class: "run-map-ends number soft" });
    this.frame = h("div", { class: "run-map-frame", "aria-hidden": "true" });
    this.element = h(
      "section",
      { class: "run-plot", "data-plot": "map", "aria-labelledby": "run-map-title" },
      h("div", { class: "run-head" }, h("h2", { id: "run-map-title" }, this.t("run.map"))),
      h("div", { class: "run-read" }, this.where, this.scale),
      h("div", { class: "run-map-box" }, this.names, h("div", { class: "run-map-stage" }, this.canvas, this.frame)),
      this.ends,
      h("p", { class: "visually-hidden", id: "run-map-keys" }, this.t("run.map.keys")),
    );
    const draw = () => this.draw();
    const on = {
      point: (event) => this.point(event),
      read: (cell) => this.read(cell),
      held: () => this.cell,
      key: (event) => this.key(event),
      draw,
      resize: draw,
    };
    listen(this.canvas, this.element, on, context.signal);
  }

  // parts: {names, step, norms}, as the log has them.
  show(parts) {
    this.parts = parts;
    const seen = parts.norms.flat().filter((x) => x > 0);
    [this.least, this.most] = seen.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, 0]);
    fill(this.names, parts.names.map((name) => h("div", { title: name }, name)));
    fill(this.ends, h("span", null, this.t("run.at", { step: parts.step[0] ?? 0 })), h("span", null, this.t("run.at", { step: parts.step.at(-1) ?? 0 })));
    this.canvas.setAttribute("aria-label", `${this.t("run.map")}: ${parts.names.join(", ")}`);
    this.draw();
  }

  // The colour of a norm, as one pixel; null: there is none.
  pixel(norm) {
    if (norm === null) {
      return null;
    }
    const spread = Math.log(this.most / this.least) || 1;
    const part = norm > 0 ? PALEST + (DARKEST - PALEST) * (this.most > this.least ? Math.log(norm / this.least) / spread : 0.5) : 0;
    return colourOf(this.colours, part);
  }

  draw() {
    const { width } = this.canvas.getBoundingClientRect();
    if (!this.parts || !width) {
      return;
    }
    this.colours = makeScale("sequential", 1);
    const { names, norms } = this.parts;
    const columns = Math.max(1, Math.min(norms.length, Math.round(width)));
    Object.assign(this.canvas, { width: columns, height: Math.max(1, names.length) });
    this.canvas.style.setProperty("height", `${names.length * ROW}px`);
    const pen = this.canvas.getContext("2d");
    const image = pen.createImageData(columns, Math.max(1, names.length));
    const pixels = new Uint32Array(image.data.buffer);
    for (let row = 0; row < names.length; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        pixels[row * columns + column] = this.pixel(this.largest(row, column, columns)) ?? 0;
      }
    }
    pen.putImageData(image, 0, 0);
    this.drawScale();
    this.read(this.cell);
  }

  // Where a pixel stands for several updates, it shows the largest norm of them.
  largest(row, column, columns) {
    const count = this.parts.norms.length;
    const [first, end] = [Math.floor((column * count) / columns), Math.floor(((column + 1) * count) / columns)];
    const seen = this.parts.norms.slice(first, end).map((norms) => norms[row]);
    return seen.reduce((a, b) => (a === null || b > a ? b : a), null);
  }

  drawScale() {
    const known = this.most > 0;
    const colour = (at) => css(colourOf(this.colours, PALEST + (DARKEST - PALEST) * (at / (STEPS - 1))));
    const bar = Array.from({ length: STEPS }, (_, at) => h("span", { style: { background: colour(at) } }));
    const end = (x) => h("span", { class: "number", title: known ? whole(x) : "" }, known ? short(x) : "–");
    fill(this.scale, end(this.least), h("span", { class: "run-map-bar", "aria-hidden": "true" }, bar), end(this.most));
  }

  point(event) {
    const { names, norms } = this.parts ?? { names: [], norms: [] };
    if (!names.length || !norms.length) {
      return;
    }
    const box = this.canvas.getBoundingClientRect();
    const inside = (part, size) => Math.min(size - 1, Math.max(0, Math.floor(part * size)));
    this.read([inside((event.clientY - box.top) / box.height, names.length), inside((event.clientX - box.left) / box.width, norms.length)]);
  }

  key(event) {
    const { names, norms } = this.parts ?? { names: [], norms: [] };
    const [row, column] = this.cell ?? [0, norms.length - 1];
    const to = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      Home: [row, 0], End: [row, norms.length - 1],
    }[event.key];
    if (!to || !names.length || !norms.length || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    event.preventDefault();
    const kept = (x, size) => Math.min(size - 1, Math.max(0, x));
    this.read(this.cell ? [kept(to[0], names.length), kept(to[1], norms.length)] : [row, column]);
    this.context.announce(this.where.textContent);
  }

  // Says the norm of a cell [row, column]; null: of none.
  read(cell) {
    this.cell = cell;
    const { names = [], step = [], norms = [] } = this.parts ?? {};
    const frame = this.frame.style;
    frame.setProperty("display", cell ? "block" : "none");
    if (!cell || !norms[cell[1]]) {
      this.where.textContent = this.t("run.map.hint");
      return;
    }
    const [row, column] = cell;
    const norm = norms[column][row];
    const { width } = this.canvas.getBoundingClientRect();
    frame.setProperty("left", `${(column / norms.length) * width}px`);
    frame.setProperty("width", `${Math.max(4, width / norms.length)}px`);
    frame.setProperty("top", `${row * ROW}px`);
    frame.setProperty("height", `${ROW}px`);
    this.where.textContent = `${this.t("run.at", { step: step[column] })}, ${names[row]}: ${norm === null ? "–" : short(norm)}`;
    this.where.title = norm === null ? "" : whole(norm);
  }
}
