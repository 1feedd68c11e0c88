// All values of a trace, or of one part, as a list: searched, filtered by kind, with their sizes.

import { Flows } from "./flow.js";
import { fill, h } from "./dom.js";
import { axes } from "./part.js";
import { matcher } from "./search.js";
import { unitName } from "./picture_words.js";
import { t } from "./words.js";
import "./values_words.js";

const PIECE = 80; // rows that are made at once
const LARGE = 2 ** 20; // of larger values no bar is read unasked
const KINDS = {
  value: ["value"],
  gradient: ["gradient"],
  weight: ["weight"],
  weight_gradient: ["weight_gradient"],
  input: ["input"],
  lens: ["lens"],
};
const lists = new WeakMap();

export async function render(root, route, context) {
  const { trace } = context;
  const scope = trace.scopes.get(route.rest);
  if (route.rest && !scope) {
    throw new Error(t("error.path", { path: route.rest }));
  }
  const list = new List(root, route, context, scope);
  lists.set(root, list);
  list.draw(route);
}

// Another word or kind changes the list alone.
export function update(root, route) {
  const list = lists.get(root);
  if (!list || list.scope !== route.rest) {
    return false;
  }
  list.show(route);
  return true;
}

class List {
  constructor(root, route, context, scope) {
    Object.assign(this, { root, context, trace: context.trace, scope: route.rest, unit: scope });
    const inside = route.rest ? `${route.rest}.` : "";
    this.entries = this.trace.entries.filter(({ path, also }) =>
      [path, ...(also ?? [])].some((name) => name.startsWith(inside)),
    );
    this.flows = new Flows(this.trace, context.signal);
    context.keys({
      ArrowDown: (event) => this.step(event, 1),
      ArrowUp: (event) => this.step(event, -1),
    });
  }

  draw(route) {
    const { context, unit, scope } = this;
    const name = unit && scope ? unitName({ path: scope, class: unit.layer }) : t("values.title");
    this.field = h("input", {
      type: "search",
      class: "field",
      placeholder: t("values.search"),
      "aria-label": t("values.search"),
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => context.change({ q: this.field.value, focus: null }),
      onkeydown: (event) => this.leaveField(event),
    });
    this.kinds = h("div", {
      class: "segmented kinds",
      role: "group",
      "aria-label": t("values.kind"),
    });
    this.count = h("p", { class: "soft count", role: "status" });
    this.list = h("ol", { class: "value-list" });
    const crumbs = scope
      ? h(
          "p",
          { class: "crumbs" },
          h("a", { href: context.href("values") }, t("values.title")),
          h("span", { class: "mono" }, scope),
        )
      : null;
    fill(
      this.root,
      crumbs,
      h("h1", { class: "title" }, name),
      h("div", { class: "search" }, this.field, this.kinds),
      this.count,
      this.list,
    );
    this.show(route);
    if (route.query.focus === "search") {
      this.field.focus();
    }
  }

  show({ query }) {
    const words = query.q ?? "";
    if (this.field.value !== words) {
      this.field.value = words;
    }
    const way = this.context.direction === "back" ? "gradient" : "value";
    this.kind =
      query.kind in KINDS || query.kind === "all" ? query.kind : words || this.scope ? "all" : way;
    this.drawKinds();
    const fits = matcher(words);
    const kinds = KINDS[this.kind];
    this.found = this.entries.filter(
      (entry) => (!kinds || kinds.includes(entry.kind)) && fits(entry),
    );
    const bytes = this.found.reduce((sum, entry) => sum + size(entry) * width(entry.dtype), 0);
    this.count.textContent = t("values.count", {
      count: this.found.length,
      all: this.entries.length,
      size: memory(bytes),
    });
    this.flows.clear();
    this.watcher?.disconnect();
    this.list.replaceChildren();
    this.made = 0;
    this.group = null;
    this.more();
  }

  drawKinds() {
    const there = Object.keys(KINDS).filter((kind) =>
      this.entries.some((entry) => KINDS[kind].includes(entry.kind)),
    );
    const button = (kind) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(kind === this.kind),
          "data-kind": kind,
          onclick: () => this.context.change({ kind, focus: null }),
        },
        t(`values.kind.${kind}`),
      );
    const focused = this.kinds.contains(document.activeElement)
      ? document.activeElement.dataset.kind
      : null;
    fill(this.kinds, ["all", ...there].map(button));
    if (focused) {
      this.kinds.querySelector(`[data-kind="${focused}"]`)?.focus();
    }
  }

  // Makes some rows; the rest is made when its place comes near the window.
  more() {
    for (const entry of this.found.slice(this.made, this.made + PIECE)) {
      const part = this.trace.parent(entry.path) ?? "";
      if (part !== this.group) {
        this.group = part;
        this.list.append(this.heading(part));
      }
      this.list.append(this.row(entry));
    }
    this.made += PIECE;
    if (!this.found.length) {
      this.list.append(h("li", { class: "notice" }, t("values.none")));
    }
    if (this.made < this.found.length) {
      this.watcher = new IntersectionObserver(
        (seen) => {
          if (seen.some(({ isIntersecting }) => isIntersecting)) {
            this.watcher.disconnect();
            this.more();
          }
        },
        { rootMargin: "600px" },
      );
      this.watcher.observe(this.list.lastElementChild);
    }
  }

  heading(part) {
    const { path, layer } = this.trace.scopes.get(part) ?? { path: part, layer: "" };
    return h(
      "li",
      { class: "group" },
      part
        ? [
            h("a", { href: this.context.href("values", path) }, unitName({ path, class: layer })),
            h("span", { class: "mono faint" }, path),
          ]
        : h("span", {}, t("values.model")),
    );
  }

  row(entry) {
    const cut = entry.path.lastIndexOf(".") + 1;
    const formula = this.trace.formula(entry.path);
    const large = size(entry) > LARGE;
    const flow = large && entry.kept !== false ? this.ask(entry) : this.flows.of(entry.path);
    const dir = entry.kind.endsWith("gradient") ? "back" : null;
    const link = h(
      "a",
      {
        class: "name mono result",
        href: this.context.href("value", entry.path, { dir }),
        "data-path": entry.path,
      },
      h("span", { class: "faint" }, entry.path.slice(0, cut)),
      entry.path.slice(cut),
    );
    const also = (entry.also ?? []).filter((name) => name !== entry.path);
    return h(
      "li",
      { class: "value-item", "data-kind": entry.kind },
      h(
        "span",
        { class: "value-head" },
        link,
        h("span", { class: "kind soft" }, t(`values.one.${entry.kind}`)),
        h("span", { class: "soft shape" }, axes(entry)),
        flow,
      ),
      formula && h("code", { class: "soft formula-text" }, formula.text),
      also.length > 0 &&
        h(
          "span",
          { class: "faint also", title: also.join("\n") },
          t("values.also", { paths: also.slice(0, 2).join(", ") + (also.length > 2 ? " …" : "") }),
        ),
    );
  }

  // A large value is measured when somebody wants to know.
  ask(entry) {
    const button = h(
      "button",
      {
        type: "button",
        class: "quiet measure",
        onclick: () => button.replaceWith(this.flows.of(entry.path)),
      },
      t("values.measure", { size: memory(size(entry) * width(entry.dtype)) }),
    );
    return button;
  }

  leaveField(event) {
    if (event.key === "Enter" && this.found.length) {
      this.context.go({ view: "value", rest: this.found[0].path });
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      this.list.querySelector(".result")?.focus();
    }
  }

  step(event, by) {
    const results = [...this.list.querySelectorAll(".result")];
    const at = results.indexOf(event.target);
    if (at < 0) {
      return false;
    }
    (results[at + by] ?? (by < 0 ? this.field : event.target)).focus();
    return true;
  }
}

function size({ shape }) {
  return shape.reduce((product, length) => product * length, 1);
}

function width(dtype) {
  return dtype === "bool" ? 1 : Number(dtype.match(/\d+$/)?.[0] ?? 32) / 8;
}

function memory(bytes) {
  const [unit, name] =
    bytes < 2 ** 20 ? [2 ** 10, "KiB"] : bytes < 2 ** 30 ? [2 ** 20, "MiB"] : [2 ** 30, "GiB"];
  return `${(bytes / unit).toFixed(bytes / unit < 10 ? 1 : 0)} ${name}`;
}
