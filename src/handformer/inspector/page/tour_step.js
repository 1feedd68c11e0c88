// One step of a worked example: what it is for, its formula, and entries to do on paper.

import { h, fill } from "./dom.js";
import { leftSide, math } from "./math.js";
import { short, whole } from "./number.js";
import { arrayTables, at, isRounded, label, mark, minus } from "./tour_arrays.js";
import { digits, lines, typeset } from "./tour_lines.js";
import { Paper, isRight, readNumber } from "./tour_paper.js";
import { prose } from "./tour_prose.js";
import { t } from "./words.js";

// The step's screen; `address(name, place)` says where a number comes from. Gives {root, showNext}.
export function stepScreen(tour, example, step, context, address) {
  return new Screen(tour, example, step, context, address);
}

class Screen {
  constructor(tour, example, step, context, address) {
    Object.assign(this, { example, step, context, address });
    this.paper = new Paper(example, step);
    this.active = step.entries[0] ?? null;
    this.result = h("div", { class: "tour-result" });
    this.cards = step.entries.map((entry) => new Card(this, entry));
    const { formula } = step;
    const words = h("p", { class: "tour-words" }, prose(step.words, tour, example, context));
    const stated = lines(leftSide(formula), [[formula.body]], t("tour.formula"));
    this.root = h("div", { class: "tour-step" },
      h("div", { class: "tour-told" }, words, stated),
      this.reads(),
      h("div", { class: "tour-entries" }, this.cards.map((card) => card.root)),
      this.result);
    this.refresh();
  }

  // The arrays and bare numbers that the formula names.
  reads() {
    const { example, step } = this;
    const arrays = step.reads.map(({ name, axes }) => arrayTables(name, example.arrays[name], axes));
    const named = Object.entries(example.scalars).filter(([name]) => mentions(step.formula.body, name));
    if (arrays.length + named.length === 0) {
      return null;
    }
    return h("div", { class: "tour-reads" }, h("h2", {}, t("tour.reads")), h("div", { class: "tour-matrices" }, arrays), scalars(named));
  }

  // The result as far as it has been shown.
  refresh() {
    const { paper, step, example } = this;
    const table = arrayTables(step.name, example.arrays[step.name], step.formula.axes, (place) => paper.isSeen(place));
    const all = h("button", { type: "button", class: "button", dataset: { action: "show-all" }, onclick: () => this.showAll() }, t("tour.showAll"));
    fill(this.result, h("h2", {}, t("tour.result")), table, paper.isWhole ? null : all);
    this.point(this.active);
  }

  // Marks an entry and the cells that it comes from; of these one more, where the pointer is at it.
  point(entry, name = null, place = null) {
    this.active = entry;
    const cells = entry ? entry.from.map((one) => [one.name, one.place]) : [];
    mark(this.root, "from", entry ? [...cells, [this.step.name, entry.place]] : []);
    mark(this.root, "here", name ? [[name, place]] : []);
    for (const card of this.cards) {
      card.root.classList.toggle("active", card.entry === entry);
    }
  }

  showAll() {
    this.paper.showAll();
    for (const card of this.cards) {
      card.draw();
    }
    this.refresh();
    this.result.tabIndex = -1;
    this.result.focus({ preventScroll: true });
  }

  // The next number that is still hidden; at last all that are left.
  showNext() {
    const card = this.cards.find((one) => !this.paper.isSeen(one.entry.place));
    if (card) {
      card.show();
    } else if (!this.paper.isWhole) {
      this.showAll();
    }
    return true;
  }
}

// One entry: its arithmetic in symbols, the question, and once it's answered the numbers.
class Card {
  constructor(screen, entry) {
    Object.assign(this, { screen, entry });
    this.name = label(screen.step.name, entry.place);
    this.left = leftSide(screen.step.formula, entry.place);
    const pointed = () => screen.point(entry);
    this.root = h("section", { class: "tour-entry panel", "aria-label": this.name, dataset: { entry: this.name }, onpointerenter: pointed, onfocusin: pointed });
    this.draw();
  }

  draw() {
    const { entry, screen } = this;
    const isNumber = (tree) => tree[0] === "number";
    const sides = isNumber(entry.symbols) ? [] : [[null, this.symbols()]];
    if (!screen.paper.isSeen(entry.place)) {
      fill(this.root, lines(this.left, sides), this.question());
      return;
    }
    if (!isNumber(entry.numbers)) {
      sides.push([entry.numbers, { digits: digits(screen.step.formula.body) }]);
    }
    const value = h("output", { class: "tour-value", tabindex: "-1" }, minus(short(entry.value)));
    const all = isRounded(entry.value) ? h("span", { class: "tour-whole soft" }, t("tour.exactly", { value: minus(whole(entry.value)) })) : null;
    fill(this.root, lines(this.left, [...sides, [null, h("span", {}, value, " ", all)]]));
  }

  // The entry in symbols; each name in it leads to the step that it comes from.
  symbols() {
    const { address, example } = this.screen;
    const made = typeset(this.entry.symbols, { onEntry: address });
    for (const link of made.querySelectorAll("a[href]")) {
      const [name, place] = origin(link);
      const point = (event) => {
        event.stopPropagation();
        this.screen.point(this.entry, name, place);
      };
      const leave = () => this.screen.point(this.entry);
      link.classList.add("tour-link");
      link.setAttribute("aria-label", t("tour.from", { name: label(name, place), value: short(at(example.arrays[name], place)) }));
      link.addEventListener("pointerenter", point);
      link.addEventListener("focusin", point);
      link.addEventListener("pointerleave", leave);
      link.addEventListener("focusout", leave);
    }
    return made;
  }

  question() {
    const { name } = this;
    const field = h("input", { class: "field tour-answer", type: "text", autocomplete: "off", spellcheck: "false", size: "9", "aria-label": t("tour.answer", { name }) });
    const said = h("span", { class: "tour-said", role: "status" });
    const check = (event) => {
      event.preventDefault();
      const given = readNumber(field.value);
      if (given !== null && isRight(given, this.entry.value)) {
        this.show(t("tour.right"));
        return;
      }
      fill(said, t(given === null ? "tour.unreadable" : "tour.wrong"));
      field.select();
    };
    const shown = h("button", { type: "button", class: "button", dataset: { action: "show" }, onclick: () => this.show() }, t("tour.show"));
    const buttons = h("span", { class: "tour-try" }, field, h("button", { type: "submit", class: "button" }, t("tour.check")), shown);
    return h("form", { class: "tour-question", onsubmit: check }, h("span", { class: "tour-ask" }, t("tour.paper", { name })), buttons, said);
  }

  show(praise = "") {
    const { screen, entry, name } = this;
    screen.paper.show(entry.place);
    this.draw();
    screen.active = entry;
    screen.refresh();
    this.root.querySelector(".tour-value").focus({ preventScroll: true });
    if (praise) {
      this.root.append(h("p", { class: "tour-said right" }, praise));
    }
    screen.context.announce(`${praise} ${t("tour.is", { name, value: short(entry.value) })}`.trim());
  }
}

// Bare numbers in a row, each whole.
export function scalars(named) {
  const made = named.map(([name, value]) => h("span", {}, math(["scalar", name]), " = ", h("span", { class: "number" }, minus(whole(value)))));
  return made.length > 0 ? h("p", { class: "tour-scalars" }, made) : null;
}

// Where a link of a formula comes from, [name, place]: it says so in its address.
function origin(link) {
  const query = new URLSearchParams(link.getAttribute("href").split("?")[1]);
  const place = query.get("at");
  return [query.get("of"), place ? place.split(",").map(Number) : []];
}

function mentions(tree, name) {
  return tree[0] === "scalar" ? tree[1] === name : tree.some((part) => Array.isArray(part) && mentions(part, name));
}
