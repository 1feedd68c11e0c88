// The computation as a tree that is unfolded around what is wrong; each value leads to what is said of it.

import { compared, WRONG } from "./check_data.js";
import { fill, h } from "./dom.js";
import { short } from "./number.js";

const PARTS = /[^.]+?\.\d+(?=\.|$)|[^.]+/g; // `blocks.0` is one part of a path
const MARKS = { right: "✓", inherited: "~", missing: "·", wrong: "✗", layout: "✗", unreadable: "✗" };
export const WORST = ["wrong", "layout", "unreadable", "inherited", "right", "missing"];

// The sign of a status; its word stands beside it.
export function mark(status) {
  return h("span", { class: "check-mark", "aria-hidden": "true" }, MARKS[status]);
}

export class Tree {
  constructor(context, checked) {
    Object.assign(this, { context, checked, t: context.t, links: new Map(), parts: [] });
    const back = ({ path }) => path.slice(path.lastIndexOf(".") + 1).startsWith("d_");
    const { values } = checked.told;
    const sides = [["forward", values.filter((one) => !back(one))], ["backward", values.filter(back)]];
    const tops = sides.filter(([, list]) => list.length).map(([name, list]) => [name, grown(list)]);
    const calm = !checked.wrong.length;
    this.element = h(
      "nav",
      { class: "check-tree panel", "aria-label": this.t("check.tree") },
      h("ul", { class: "plain" }, tops.map(([name, top]) => this.part({ ...top, name: this.t(`check.${name}`) }, calm))),
      h("p", { class: "soft check-keys" }, this.t("check.keys")),
    );
  }

  // A part of the model; a value is a part without parts.
  part(node, open = false) {
    const status = worst(node.values);
    if (!node.parts.size) {
      return h("li", null, this.leaf(node.name, node.values[0]));
    }
    const inside = h("ul", { class: "plain" });
    const box = h(
      "details",
      { open: open || WRONG.has(status) },
      h("summary", { "data-status": status }, mark(status), h("span", null, h("span", { class: "mono" }, node.name), " ", h("span", { class: "soft" }, this.counted(node.values)))),
      inside,
    );
    // Of a large model most parts are never opened.
    const grow = () => box.open && !inside.children.length && fill(inside, [...node.parts.values()].map((one) => this.part(shortened(one))));
    box.addEventListener("toggle", grow);
    this.parts.push({ values: node.values, open: () => { box.open = true; grow(); } });
    grow();
    return h("li", { "data-part": node.path }, box);
  }

  leaf(name, value) {
    const { t } = this;
    const ids = value.causes.map(({ id }) => id).join(", ");
    const found = compared(value);
    const more = WRONG.has(value.status) ? ids || t(`check.${value.status}`) : value.status === "right" && found?.off ? short(found.off, 2) : "";
    const link = h(
      "a",
      { class: "check-leaf", "data-status": value.status, "data-path": value.path, href: this.context.href("check", value.path), title: value.path },
      mark(value.status),
      h("span", null, h("span", { class: "mono" }, name), " ", h("span", { class: "visually-hidden" }, t(`check.${value.status}`)), h("span", { class: "soft" }, more)),
    );
    this.links.set(value.path, link);
    this.current(link, value.path);
    return link;
  }

  counted(values) {
    const count = (status) => values.filter((value) => value.status === status).length;
    const there = WORST.filter((status) => count(status));
    return there.map((status) => `${count(status)} ${this.t(`check.${status}`)}`).join(", ");
  }

  // Marks the value that is shown, and brings it into view.
  choose(path) {
    const before = this.chosen;
    this.chosen = path;
    for (const { values, open } of this.parts) { // those inside of it join the list as it opens
      if (values.includes(this.checked.value(path))) {
        open();
      }
    }
    for (const one of [before, path]) {
      if (this.links.has(one)) {
        this.current(this.links.get(one), one);
      }
    }
    const [tree, link] = [this.element.getBoundingClientRect(), this.links.get(path).getBoundingClientRect()];
    if (link.top < tree.top || link.bottom > tree.bottom) {
      this.element.scrollTop += link.top - tree.top - tree.height / 2;
    }
  }

  current(link, path) {
    if (path === this.chosen) {
      link.setAttribute("aria-current", "true");
    } else {
      link.removeAttribute("aria-current");
    }
  }

  // Arrows: from line to line.
  step(event, by) {
    const stops = [...this.element.querySelectorAll("a, summary")].filter((one) => one.offsetParent !== null);
    const at = stops.indexOf(event.target);
    if (at < 0) {
      return false;
    }
    stops[at + by]?.focus();
    return true;
  }
}

// Values put together by the parts of their paths.
function grown(values) {
  const top = { name: "", path: "", values, parts: new Map() };
  for (const value of values) {
    let node = top;
    for (const part of value.path.match(PARTS) ?? [value.path]) {
      if (!node.parts.has(part)) {
        node.parts.set(part, { name: part, path: node.path ? `${node.path}.${part}` : part, values: [], parts: new Map() });
      }
      node = node.parts.get(part);
      node.values.push(value);
    }
  }
  const rank = new Map(values.map((value, at) => [value, at]));
  return sorted(top, rank);
}

// A part stands where its last value is computed: its weights are given long before.
function sorted(node, rank) {
  const last = (part) => rank.get(part.values.at(-1));
  const parts = [...node.parts].sort(([, one], [, other]) => last(one) - last(other));
  return { ...node, parts: new Map(parts.map(([name, part]) => [name, sorted(part, rank)])) };
}

// A part with one value in it under one name.
function shortened(node) {
  if (node.parts.size !== 1) {
    return node;
  }
  const [only] = node.parts.values();
  return shortened({ ...only, name: `${node.name}.${only.name}` });
}

function worst(values) {
  return WORST.find((status) => values.some((value) => value.status === status));
}
