// Curves over the updates of a run: a picture that tells its numbers under the pointer, and to the arrow keys.

import { fill, h, s } from "./dom.js";
import { short, whole } from "./number.js";
import { listen } from "./run_listen.js";
import { makeScale, nearest } from "./run_scale.js";

const MARGIN = { top: 10, right: 14, bottom: 38, left: 58 };
const STRIDE = 10; // points that Shift and an arrow pass over
let count = 0;

export class Curves {
  // {title, x, y, from?: where a linear axis begins, logarithmic?: whether it is at first, rule?: {y, name}};
  // context is the view's.
  constructor(told, context) {
    Object.assign(this, told, { context, t: context.t, series: [], xs: [], at: null, width: 0 });
    this.logarithmic = told.logarithmic ?? false;
    const id = `curves-${(count += 1)}`;
    this.picture = s("svg", { class: "run-picture", role: "img", tabindex: "0", "aria-describedby": `${id}-keys` });
    this.legend = h("ul", { class: "run-legend" });
    this.where = h("p", { class: "run-where soft number" });
    this.toggle = h(
      "button",
      { type: "button", class: "button small", "data-action": "logarithmic", "aria-pressed": String(this.logarithmic), onclick: () => this.turn() },
      this.t("run.logarithmic"),
    );
    this.element = h(
      "section",
      { class: "run-plot", "data-plot": told.name, "aria-labelledby": id },
      h("div", { class: "run-head" }, h("h2", { id }, told.title), this.toggle),
      h("div", { class: "run-read" }, this.where, this.legend),
      this.picture,
      h("p", { class: "visually-hidden", id: `${id}-keys` }, this.t("run.keys")),
    );
    const on = {
      point: (event) => this.point(event),
      read: (at) => this.read(at),
      held: () => this.at,
      key: (event) => this.key(event),
      draw: () => this.draw(),
      resize: () => this.resize(),
    };
    listen(this.picture, this.element, on, context.signal);
  }

  // series: [{name, points: [[x, y or null], ...], class or colour: () => css, dots}], in the order of the legend.
  show(series) {
    this.series = series.map((one) => ({ ...one, by: new Map(one.points) }));
    this.xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
    this.items = this.series.map((one) => {
      const value = h("span", { class: "number run-value" });
      const swatch = h("span", { class: `run-swatch ${one.class ?? ""}`, "aria-hidden": "true" });
      return { value, swatch, element: h("li", { "data-series": one.name }, swatch, one.name, " ", value) };
    });
    fill(this.legend, this.items.map((item) => item.element));
    this.draw();
  }

  turn() {
    this.logarithmic = !this.logarithmic;
    this.toggle.setAttribute("aria-pressed", String(this.logarithmic));
    this.draw();
  }

  resize() {
    const width = Math.round(this.element.clientWidth);
    if (width && width !== this.width) {
      this.width = width;
      this.draw();
    }
  }

  draw() {
    if (!this.width) {
      return;
    }
    const [width, height] = [this.width, Math.round(Math.min(300, Math.max(190, this.width * 0.32)))];
    const [inner, tall] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
    const ys = this.series.flatMap((one) => one.points.map(([, y]) => y)).filter((y) => y !== null);
    const marks = this.rule && ys.length ? [...ys, this.rule.y] : ys;
    const across = makeScale(this.xs, { most: Math.max(2, Math.floor(inner / 90)), from: 0 });
    this.down = makeScale(marks, { logarithmic: this.logarithmic, pad: 0.06, from: this.from });
    this.x = (x) => MARGIN.left + across.place(x) * inner;
    this.y = (y) => MARGIN.top + (1 - this.down.place(y)) * tall;
    this.box = { inner, tall, bottom: MARGIN.top + tall, right: MARGIN.left + inner };
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("height", height);
    this.picture.setAttribute("aria-label", this.summary());
    this.cursor = s("g", { class: "run-cursor" });
    fill(this.picture, this.axes(across), this.series.map((one) => this.curve(one)), this.ruled(), this.cursor);
    this.items.forEach((item, number) => {
      const { colour } = this.series[number];
      colour && item.swatch.style.setProperty("background", colour());
    });
    this.read(this.at);
  }

  axes(across) {
    const { right, bottom, tall } = this.box;
    const rows = this.down.ticks.map((tick) => [
      s("line", { class: "run-grid", x1: MARGIN.left, x2: right, y1: this.y(tick), y2: this.y(tick) }),
      s("text", { class: "run-tick", x: MARGIN.left - 8, y: this.y(tick), "text-anchor": "end", "dominant-baseline": "central" }, short(tick)),
    ]);
    const columns = across.ticks.map((tick) =>
      s("text", { class: "run-tick", x: this.x(tick), y: bottom + 16, "text-anchor": "middle" }, String(tick)),
    );
    const named = [
      s("line", { class: "run-axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }),
      s("text", { class: "run-name", x: right, y: bottom + 33, "text-anchor": "end" }, this.xName),
      s("text", { class: "run-name", transform: `translate(12 ${MARGIN.top + tall / 2}) rotate(-90)`, "text-anchor": "middle" }, this.yName),
    ];
    return [rows, columns, named];
  }

  // A line at a number that means something, with its name.
  ruled() {
    if (!this.rule || !this.down.shows(this.rule.y)) {
      return [];
    }
    const y = this.y(this.rule.y);
    return [
      s("line", { class: "run-rule", x1: MARGIN.left, x2: this.box.right, y1: y, y2: y }),
      s("text", { class: "run-tick run-rule-name", x: this.box.right, y: y - 5, "text-anchor": "end" }, this.rule.name),
    ];
  }

  // A line with a gap where there is no number, and dots where they are few.
  curve(one) {
    let pen = "M";
    const line = [];
    for (const [x, y] of one.points) {
      if (y === null || !this.down.shows(y)) {
        pen = "M";
        continue;
      }
      line.push(`${pen}${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)}`);
      pen = "L";
    }
    const paint = one.colour ? { stroke: one.colour() } : {};
    const dots = one.dots || one.points.length === 1 ? this.points(one) : [];
    return s("g", { class: `run-series ${one.class ?? ""}` }, s("path", { d: line.join(""), ...paint }), dots);
  }

  points(one) {
    const seen = one.points.filter(([, y]) => y !== null && this.down.shows(y));
    return seen.map(([x, y]) => s("circle", { cx: this.x(x), cy: this.y(y), r: 3.5, ...(one.colour ? { fill: one.colour() } : {}) }));
  }

  point(event) {
    if (!this.xs.length || !this.width) {
      return;
    }
    const box = this.picture.getBoundingClientRect();
    const part = (event.clientX - box.left - MARGIN.left) / this.box.inner;
    this.read(nearest(this.xs.map((x) => this.x(x)), MARGIN.left + part * this.box.inner));
  }

  key(event) {
    const last = this.xs.length - 1;
    const at = this.at ?? last;
    const stride = event.shiftKey ? STRIDE : 1;
    const to = { ArrowLeft: at - stride, ArrowRight: at + stride, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0 || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    event.preventDefault();
    this.read(Math.min(last, Math.max(0, to)));
    const told = this.series.flatMap((one) => (this.known(one) ? [`${one.name} ${short(one.by.get(this.xs[this.at]))}`] : []));
    this.context.announce([this.t("run.at", { step: this.xs[this.at] }), ...told].join(", "));
  }

  known(one) {
    return Number.isFinite(one.by.get(this.xs[this.at]));
  }

  // Shows the numbers at a place of `xs`; null: the last ones.
  read(at) {
    this.at = at;
    const x = at === null ? null : this.xs[at];
    this.where.textContent = x === null ? this.t("run.latest") : this.t("run.at", { step: x });
    const marks = [];
    this.series.forEach((one, number) => {
      const y = x === null ? one.points.findLast(([, found]) => found !== null)?.[1] : one.by.get(x);
      const { value } = this.items[number];
      value.textContent = Number.isFinite(y) ? short(y) : "–";
      value.title = Number.isFinite(y) ? whole(y) : "";
      if (x !== null && Number.isFinite(y) && this.down?.shows(y)) {
        marks.push(s("circle", { class: `run-mark ${one.class ?? ""}`, cx: this.x(x), cy: this.y(y), r: 4, ...(one.colour ? { fill: one.colour() } : {}) }));
      }
    });
    if (this.cursor) {
      const line = x === null ? null : s("line", { x1: this.x(x), x2: this.x(x), y1: MARGIN.top, y2: this.box.bottom });
      fill(this.cursor, line, marks);
    }
  }

  // What a picture says to those who don't see it.
  summary() {
    const parts = this.series.map((one) => {
      const seen = one.points.filter(([, y]) => y !== null);
      const [first, last] = [seen[0], seen.at(-1)];
      return seen.length ? this.t("run.summary", { name: one.name, x0: first[0], y0: short(first[1]), x1: last[0], y1: short(last[1]) }) : "";
    });
    return [this.title, ...parts.filter(Boolean).slice(0, 8)].join(". ");
  }
}
