// A block of the model: closed, a line with what its branches add; open, its own stream and parts.

import { fill, h } from "./dom.js";
import { last } from "./names.js";
import { unitName } from "./picture_words.js";

// The row of a step {unit, steps} in a picture. What is inside is made when it is opened first.
export function blockRow(picture, { unit, steps }) {
  const inside = h("ol", { class: "column inner", id: `inside-${unit.path}` });
  const brief = h("span", { class: "short" });
  const item = h("li", { class: "row block", "data-part": unit.path, "data-class": unit.class });
  const branches = steps.filter(({ kind, units }) => kind === "branch" && units.length);
  const ends = branches.map(({ units }) => units.at(-1));
  const isOpen = () => picture.open.has(unit.path);

  const summarize = () => {
    const flow = (one) => picture.flows.of(picture.direction === "back" ? one.back : one.out);
    const line = (one) =>
      h("span", { class: "brief" }, h("span", { class: "soft" }, last(one.path)), flow(one));
    fill(brief, isOpen() ? [] : ends.map(line));
  };
  const show = () => {
    button.setAttribute("aria-expanded", String(isOpen()));
    item.classList.toggle("closed", !isOpen());
    inside.hidden = !isOpen();
    if (isOpen() && !inside.childElementCount) {
      // Its first value is the stream before it, which stands above; its last one stands below.
      inside.append(...steps.slice(1, -1).map((step) => picture.row(step)));
    }
    summarize();
    picture.wires?.draw();
  };

  const button = opener(unit, inside.id, () => picture.toggle(unit.path, show));
  const looks = branches.some(({ units }) => units.some(({ others }) => others.length));
  const heading = h(`h${picture.level}`, { class: "heading" }, button);
  item.append(h("div", { class: "block-head", "data-looks": looks }, heading, brief), inside);
  picture.changes.push(summarize);
  show();
  return item;
}

// The button that opens a unit, with its name.
export function opener(unit, controls, onclick, shown = unit.path) {
  return h(
    "button",
    {
      type: "button",
      class: "opener",
      "data-open": unit.path || "model",
      "aria-controls": controls,
      onclick,
    },
    h("span", { class: "turner", "aria-hidden": "true" }),
    h("span", { class: "unit-name" }, unitName(unit)),
    h("span", { class: "mono faint unit-path" }, shown),
  );
}
