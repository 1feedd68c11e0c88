// The logit lens as a table: a row for each layer, a column for each place.

import { fill, h } from "./dom.js";
import { percent, whole } from "./number.js";
import { t } from "./words.js";

export class Lens {
  // null where the trace has none.
  static async of(view) {
    const paths = ["lens.tokens", "lens.probs", "lens.target"];
    if (!paths.every((path) => view.trace.has(path))) {
      return null;
    }
    return new Lens(view, ...(await Promise.all(paths.map((path) => view.trace.array(path)))));
  }

  constructor(view, tokens, probs, target) {
    Object.assign(this, { view, tokens, probs, target });
    [this.layers, this.rows, this.count, this.many] = tokens.shape;
    this.chosen = h("div", { class: "panel chosen", "aria-live": "polite" });
    this.element = h(
      "section",
      { class: "lens" },
      h("h2", { class: "side-title" }, t("lens.title")),
      h("p", { class: "lead" }, t("lens.lead")),
      this.table(),
      this.chosen,
    );
    this.keys = {
      ArrowLeft: (event) => this.step(event, 0, -1),
      ArrowRight: (event) => this.step(event, 0, 1),
      ArrowUp: (event) => this.step(event, -1, 0),
      ArrowDown: (event) => this.step(event, 1, 0),
    };
  }

  name(layer) {
    return layer === 0 ? t("lens.embedding") : t("lens.after", { number: layer - 1 });
  }

  table() {
    const { places } = this.view;
    const label = (text) => h("span", { class: "word" }, text);
    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, t("lens.layer")),
      places.map((place) =>
        h("th", { scope: "col", title: String(place) }, label(this.view.token(place))),
      ),
    );
    const body = Array.from({ length: this.layers }, (_, layer) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, this.name(layer)),
        places.map((place) => this.cell(layer, place)),
      ),
    );
    const came = places.map((place) => {
      const target = this.view.target(place);
      return h("td", {}, target === null ? "–" : label(this.view.word(target)));
    });
    const foot = h("tr", {}, h("th", { scope: "row" }, t("lens.came")), came);
    const table = h(
      "table",
      {
        class: "lens-table",
        "data-table": "lens",
        role: "grid",
        "aria-label": t("lens.title"),
        onclick: (event) => this.choose(event),
        onkeydown: (event) => (event.key === "Enter" || event.key === " ") && this.choose(event),
        onfocusin: (event) => this.choose(event),
      },
      h("thead", {}, head),
      h("tbody", {}, body),
      h("tfoot", {}, foot),
    );
    return h("div", { class: "scroll-x" }, table);
  }

  // The likeliest tokens of a cell, with their chances.
  best(layer, place) {
    const at = (layer * this.rows + this.view.row) * this.count + place;
    const list = Array.from({ length: this.many }, (_, k) => ({
      id: this.tokens.data[at * this.many + k],
      chance: this.probs.data[at * this.many + k],
    }));
    return { list, chance: this.target.data[at] };
  }

  cell(layer, place) {
    const [first] = this.best(layer, place).list;
    const word = this.view.word(first.id);
    const hit = first.id === this.view.target(place);
    return h(
      "td",
      {
        "data-layer": layer,
        "data-place": place,
        tabindex: "-1",
        class: hit ? "hit" : null,
        style: { "--chance": first.chance },
        "aria-label": t("lens.said", { token: word, chance: percent(first.chance) }),
        title: `${word}  ${whole(first.chance)}`,
      },
      h("span", { class: "word" }, word),
    );
  }

  at(layer, place) {
    return this.element.querySelector(`td[data-layer="${layer}"][data-place="${place}"]`);
  }

  choose(event) {
    const cell = event.target.closest("td[data-layer]");
    if (cell && cell !== this.cellNow) {
      this.view.context.change({ cell: `${cell.dataset.layer},${cell.dataset.place}` });
    }
  }

  step(event, down, right) {
    const cell = event.target.closest?.("td[data-layer]");
    const next =
      cell && this.at(Number(cell.dataset.layer) + down, Number(cell.dataset.place) + right);
    next?.focus();
    return Boolean(cell);
  }

  // Shows what a cell holds; `text` is "layer,place" as in the address.
  select(text) {
    const [layer, place] = (text ?? "").split(",").map(Number);
    const cell = text ? this.at(layer, place) : null;
    this.cellNow?.removeAttribute("aria-selected");
    (this.cellNow ?? this.at(this.layers - 1, this.view.places[0]))?.setAttribute("tabindex", "-1");
    this.cellNow = cell;
    (cell ?? this.at(this.layers - 1, this.view.places[0]))?.setAttribute("tabindex", "0");
    if (!cell) {
      fill(this.chosen, h("p", { class: "soft" }, t("lens.hint")));
      return;
    }
    cell.setAttribute("aria-selected", "true");
    const { list, chance } = this.best(layer, place);
    const target = this.view.target(place);
    const line = ({ id, chance: part }, name) =>
      h(
        "li",
        { class: id === target ? "hit" : null },
        h("span", { class: "token" }, name ?? this.view.word(id)),
        h("span", { class: "amount" }, h("i", { style: { width: `${100 * part}%` } })),
        h("span", { class: "number", title: whole(part) }, percent(part)),
      );
    fill(
      this.chosen,
      h(
        "p",
        {},
        t("lens.chosen", { layer: this.name(layer), place, token: this.view.token(place) }),
      ),
      h(
        "ol",
        { class: "five" },
        list.map((one) => line(one)),
      ),
      target !== null &&
        h(
          "ul",
          { class: "five aim" },
          line({ id: target, chance }, t("lens.target", { token: this.view.word(target) })),
        ),
    );
  }
}
