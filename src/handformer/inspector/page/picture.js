// The model as a picture: from the tokens along the residual stream to the loss; backward, the same
// picture read the other way, with gradients in the places of the values.

import { fill, h } from "./dom.js";
import { Flows } from "./flow.js";
import { Card } from "./part.js";
import { facts, strip } from "./strip.js";
import { blockRow } from "./block.js";
import { streamRow } from "./stream.js";
import { structure } from "./structure.js";
import { Wires } from "./wires.js";
import { t } from "./words.js";
import { className } from "./picture_words.js";

const FEW = 4; // as many blocks stand open without being asked

export async function render(root, route, context) {
  if (!context.trace) {
    return nothing(root, context);
  }
  const picture = new Picture(root, route, context);
  picture.draw();
  return () => picture.wires?.stop();
}

// Another direction changes the numbers in their places, so that the picture stands still.
export function update(root, route, context) {
  const picture = Picture.of.get(root);
  return picture ? picture.turn(route) : false;
}

function nothing(root, { href, source }) {
  const { can = {} } = source.about;
  const to = can.run || can.generate ? "generate" : can.log ? "run" : "tour";
  fill(
    root,
    h("h1", { class: "title" }, t("empty.title")),
    h("p", {}, t("empty.body")),
    h("a", { class: "button primary", href: href(to) }, t(`nav.${to}`)),
  );
}

class Picture {
  static of = new WeakMap();

  constructor(root, route, context) {
    Picture.of.set(root, this);
    this.root = root;
    this.context = context;
    this.trace = context.trace;
    this.model = structure(this.trace);
    this.flows = new Flows(this.trace, context.signal);
    this.direction = context.direction;
    this.changes = []; // what is done again when the direction changes
    this.blocks = this.model.columns.flat().filter(({ kind }) => kind === "block");
    this.level = this.model.columns.length > 1 ? 3 : 2; // of the headings
    this.open = this.opened(route);
    context.keys({
      ArrowDown: (event) => this.step(event, 1),
      ArrowUp: (event) => this.step(event, -1),
    });
  }

  // Which blocks and parts stand open: what the address says, or a few.
  opened({ query }) {
    if ("open" in query) {
      return new Set(query.open.split(",").filter((path) => path !== "none"));
    }
    const first = this.model.columns
      .map((steps) => steps.find(({ kind }) => kind === "block"))
      .filter(Boolean);
    if (!this.blocks.length) {
      return new Set(["model"]);
    }
    const some = this.blocks.length <= FEW ? this.blocks : first;
    return new Set(some.map(({ unit }) => unit.path));
  }

  draw() {
    const { columns, rest } = this.model;
    const drawn = columns.map((steps, number) =>
      this.column(steps, columns.length > 1 && number === 0),
    );
    fill(
      this.root,
      h("h1", { class: "title" }, this.trace.manifest.name || className(this.trace.manifest.model)),
      facts(this.trace),
      this.caption(),
      h("div", { class: `columns columns-${drawn.length}` }, drawn),
      rest.length > 0 &&
        h(
          "ol",
          { class: "column loose" },
          rest.map((unit) => h("li", { class: "row unit" }, this.card(unit))),
        ),
    );
    if (drawn.length > 1) {
      this.wires = new Wires(this.root.querySelector(".columns"), this.memory);
    }
  }

  caption() {
    const words = h("p", { class: "lead" });
    const lead = this.model.columns.length ? "picture.lead" : "picture.alone";
    this.changing(() => fill(words, t(`${lead}.${this.direction}`)));
    const all = (paths) => () => {
      this.open = new Set(paths);
      this.remember();
      this.changes = [];
      this.draw();
    };
    const another =
      this.context.source.about.can?.run &&
      h(
        "a",
        { class: "quiet", "data-action": "another", href: this.context.href("generate") },
        t("picture.another"),
      );
    const buttons = this.blocks.length > 1 && [
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "data-action": "open-all",
          onclick: all(this.blocks.map(({ unit }) => unit.path)),
        },
        t("picture.open_all"),
      ),
      h(
        "button",
        { type: "button", class: "quiet", "data-action": "close-all", onclick: all([]) },
        t("picture.close_all"),
      ),
    ];
    return h(
      "div",
      { class: "caption" },
      words,
      h("p", { class: "legend" }, legend(), t("picture.legend")),
      h("div", { class: "choices" }, another, buttons),
    );
  }

  column(steps, first) {
    const { trace } = this;
    const side = first ? "source" : "tokens";
    const label =
      this.model.columns.length > 1
        ? h("h2", { class: "side-title" }, t(`picture.side.${side}`))
        : null;
    const text = trace.entry(side)
      ? h("li", { class: "row text" }, strip(trace, side, this.context))
      : null;
    return h(
      "section",
      { class: "side", "aria-label": t(`picture.side.${side}`) },
      label,
      h(
        "ol",
        { class: "column" },
        text,
        steps.map((step) => this.row(step)),
      ),
    );
  }

  row(step) {
    switch (step.kind) {
      case "stream":
        return streamRow(this, step.path);
      case "sources":
        return h(
          "li",
          { class: "row branch sources" },
          bracket(),
          step.units.map((unit) => this.card(unit)),
        );
      case "branch":
        return h(
          "li",
          { class: "row branch" },
          bracket(),
          h("span", { class: "flight", "aria-hidden": "true" }),
          step.units.map((unit) => this.card(unit)),
        );
      case "unit":
        return h("li", { class: "row unit" }, this.card(step.unit));
      default:
        return blockRow(this, step);
    }
  }

  card(unit) {
    const inside = this.blocks.some(({ unit: block }) => unit.path.startsWith(`${block.path}.`));
    const card = new Card(unit, this, this.level + (inside ? 1 : 0));
    this.changing(() => card.draw());
    return card.element;
  }

  // What a second column looks at: where the first one ends; null where there is one alone.
  get memory() {
    const { columns } = this.model;
    return columns.length > 1 ? columns[0].at(-1).path : null;
  }

  changing(change) {
    this.changes.push(change);
    change();
  }

  toggle(path, show) {
    if (!this.open.delete(path)) {
      this.open.add(path);
    }
    show();
    this.remember();
  }

  remember() {
    this.quiet = true; // the address follows; nothing is drawn anew
    this.context.change({ open: [...this.open].join(",") || "none" });
  }

  turn(route) {
    if (this.quiet) {
      this.quiet = false;
      return true;
    }
    if (this.direction === this.context.direction) {
      return false;
    }
    this.open = this.opened(route);
    this.direction = this.context.direction;
    const at = document.activeElement?.closest?.("[data-part], [data-stream]");
    this.flows.clear();
    for (const change of this.changes) {
      change();
    }
    this.wires?.draw();
    if (at?.isConnected && !at.contains(document.activeElement)) {
      at.querySelector("a, button")?.focus();
    }
    return true;
  }

  // Arrows: from part to part.
  step(event, by) {
    const stops = [...this.root.querySelectorAll(".opener, .stream .name")].filter(
      (one) => one.offsetParent !== null,
    );
    const at = stops.indexOf(
      event.target.closest?.(".opener, .stream .name") ??
        event.target.closest?.("[data-part]")?.querySelector(".opener"),
    );
    if (at < 0) {
      return false;
    }
    stops[at + by]?.focus();
    return true;
  }
}

function bracket() {
  return h("span", { class: "bracket", "aria-hidden": "true" });
}

function legend() {
  return h(
    "span",
    {
      class: "bar sample",
      "aria-hidden": "true",
      style: { "--decades": 4, "--rms": "50%", "--peak": "75%" },
    },
    h("i"),
    h("b"),
  );
}
