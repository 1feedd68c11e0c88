// One part of the model on a card: its name, what flows out of it, its values; opened, its formulas.

import { opener } from "./block.js";
import { fill, h } from "./dom.js";
import { formulaMath } from "./math.js";
import { last } from "./names.js";
import { unitName, caption } from "./picture_words.js";
import { thumbnails } from "./thumbnails.js";
import { t } from "./words.js";

const FORWARD = ["input", "value"];
const BACK = ["gradient", "weight_gradient"];

export class Card {
  // `level`: that of its heading
  constructor(unit, picture, level) {
    this.unit = unit;
    this.picture = picture;
    this.trace = picture.trace;
    this.element = h("article", {
      class: "card",
      "data-part": unit.path,
      "data-class": unit.class,
      "data-looks": unit.others.length > 0,
      "aria-label": unitName(unit),
    });
    this.key = unit.path || "model";
    this.details = h("div", { class: "details", id: `of-${this.key}` });
    const toggle = () => picture.toggle(this.key, () => this.show());
    this.opener = opener(unit, this.details.id, toggle, last(unit.path));
    this.flow = h("span", { class: "card-flow" });
    this.said = h("p", { class: "said" });
    this.pictures = h("div", { class: "thumbnails" });
    this.chips = h("ul", { class: "chips" });
    const heading = h(`h${level}`, { class: "heading" }, this.opener);
    this.element.append(
      h("div", { class: "card-head" }, heading, this.flow),
      this.said,
      this.pictures,
      this.chips,
      this.details,
    );
  }

  get back() {
    return this.picture.direction === "back";
  }

  // Everything that the direction changes.
  draw() {
    const { unit, picture } = this;
    fill(this.flow, picture.flows.of(this.back ? unit.back : unit.out));
    fill(this.said, caption(unit, picture.direction));
    fill(
      this.chips,
      this.sides(),
      this.values().map((entry) => h("li", {}, this.chip(entry))),
    );
    thumbnails(this.pictures, unit, this.trace, picture.context);
    this.show();
  }

  // The unit's own values in this direction, then its weights or their gradients.
  values() {
    const kinds = this.back ? BACK : FORWARD;
    const own = inside(this.trace, this.unit.path);
    const flows = own.filter(({ kind }) => kinds.includes(kind));
    return this.back ? flows : [...flows, ...own.filter(({ kind }) => kind === "weight")];
  }

  chip(entry) {
    const weight = entry.kind.startsWith("weight");
    const name = this.unit.path ? entry.path.slice(this.unit.path.length + 1) : entry.path;
    const shape = `${entry.axes.join(" ")} = ${entry.shape.join(" × ")}`;
    return h(
      "a",
      {
        class: `chip mono${weight ? " weight" : ""}${entry.kept === false ? " gone" : ""}`,
        href: this.picture.context.href("value", entry.path),
        "data-path": entry.path,
        title: `${entry.path}  ${shape}`,
      },
      name,
    );
  }

  // What comes in from elsewhere: the memory that a cross-attention looks at.
  sides() {
    return this.unit.others.map((path) => {
      const shown = this.back ? this.trace.gradientOf(path) : path;
      const name =
        [path, ...(this.trace.entry(path).also ?? [])].find((one) => !one.includes(".")) ??
        last(path);
      const arrow = this.back ? "→" : "←";
      return (
        shown &&
        h(
          "li",
          {},
          h(
            "a",
            {
              class: "chip mono side-chip",
              href: this.picture.context.href("value", shown),
              "data-path": shown,
            },
            `${arrow} ${name}`,
          ),
        )
      );
    });
  }

  show() {
    const open = this.picture.open.has(this.key);
    this.opener.setAttribute("aria-expanded", String(open));
    this.details.hidden = !open;
    this.chips.hidden = open; // the details name them all
    fill(this.details, open ? this.table() : []);
    this.picture.wires?.draw();
  }

  // Each value with its axes, its formula and what flows through it.
  table() {
    const { context, flows } = this.picture;
    const rows = this.values().map((entry) => {
      const formula = this.trace.formula(entry.path);
      return h(
        "li",
        { class: "value-row" },
        h(
          "span",
          { class: "value-head" },
          this.chip(entry),
          h("span", { class: "soft shape" }, axes(entry)),
          small(entry) ? flows.of(entry.path) : null,
        ),
        formula
          ? h(
              "span",
              {
                class: "formula scroll-x",
                tabindex: "0",
                role: "group",
                "aria-label": formula.text,
              },
              formulaMath(formula, { words: words() }),
            )
          : null,
      );
    });
    return [
      h("ol", { class: "value-rows" }, rows),
      this.trace.scopes.has(this.unit.path) &&
        h(
          "p",
          { class: "more" },
          h("a", { href: context.href("values", this.unit.path) }, t("picture.all_values")),
        ),
    ];
  }
}

function inside(trace, path) {
  if (!trace.scopes.has(path)) {
    return trace.entries.filter((entry) => entry.path.startsWith(`${path}.`));
  }
  return [
    ...trace.values(path),
    ...trace.children(path).flatMap((child) => inside(trace, child.path)),
  ];
}

// Weights may be large: they are read when they are opened, not for a bar.
function small(entry) {
  return entry.shape.reduce((product, size) => product * size, 1) <= 2 ** 20;
}

export function axes({ axes: letters, shape }) {
  return letters.length
    ? letters.map((letter, axis) => `${letter} ${shape[axis]}`).join(" · ")
    : t("picture.one_number");
}

// The words that stand in formulas.
function words() {
  return { if: t("picture.if"), otherwise: t("picture.otherwise"), more: t("picture.more") };
}
