// Small maps side by side, one for each place of an axis: all heads of a layer at one glance.

import { fill, h } from "./dom.js";
import { Heat } from "./heat.js";
import { last } from "./names.js";

const MOST = 64;

export class Multiples {
  // Not `compact`: with the texts of tokens at their edges, and larger for it.
  constructor(context, pick, compact) {
    Object.assign(this, { context, pick, compact, maps: [] });
    this.element = h("div", { class: compact ? "multiples" : "multiples multiples-large", role: "group", hidden: true });
  }

  show(chart) {
    const { many } = chart.layout;
    const count = many === null ? 0 : chart.array.shape[many];
    this.element.hidden = count < 2 || count > MOST;
    if (this.element.hidden) {
      return;
    }
    if (this.maps.length !== count || this.chart !== chart) {
      this.build(chart, count, many);
    }
    const now = [chart.at.filter((_, axis) => axis !== many).join(), chart.scale.limit, chart.scale.dark].join(" ");
    const same = now === this.shown;
    this.shown = now;
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.maps.forEach(({ button }, place) => button.setAttribute("aria-pressed", String(place === chart.at[many])));
    if (!same) {
      this.draw(chart, many, 0, turn);
    }
  }

  build(chart, count, many) {
    const letter = chart.entry.axes[many];
    const { signal, t } = this.context;
    const name = (place) => (t(`value.axis.${letter}`) === `value.axis.${letter}` ? `${letter} ${place}` : `${t(`value.axis.${letter}`)} ${place}`);
    this.chart = chart;
    this.shown = null;
    this.element.setAttribute("aria-label", t("value.many.label", { path: last(chart.entry.path), axis: letter }));
    this.maps = Array.from({ length: count }, (_, place) => {
      const heat = new Heat({ on: {}, compact: true, signal });
      const button = h(
        "button",
        { type: "button", class: "multiple", "data-many": `${letter}${place}`, "aria-pressed": "false", onclick: () => this.pick(place) },
        h("span", { class: "multiple-name" }, name(place)),
        heat.element,
      );
      return { heat, button };
    });
    fill(this.element, this.maps.map(({ button }) => button));
  }

  // One map at a time, with a breath in between where they are large.
  draw(chart, many, from, turn) {
    const started = performance.now();
    for (let place = from; place < this.maps.length; place += 1) {
      const at = chart.at.map((own, axis) => (axis === many ? place : own));
      const edges = this.compact ? { rows: null, columns: null } : { rows: chart.rows, columns: chart.columns };
      const shown = { plane: chart.plane(at), mask: chart.maskAt(at), scale: chart.scale, ...edges, key: at.join() };
      this.maps[place].heat.show(shown, { window: null });
      if (performance.now() - started > 12 && place + 1 < this.maps.length) {
        setTimeout(() => turn === this.turn && !this.context.signal.aborted && this.draw(chart, many, place + 1, turn));
        return;
      }
    }
  }
}
