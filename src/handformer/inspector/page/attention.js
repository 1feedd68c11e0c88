// Attention of one layer: every head side by side with the tokens' texts, one of them large, what is hidden hatched.

import { CellBox } from "./cell_box.js";
import { Chart } from "./chart.js";
import { fill, h } from "./dom.js";
import { focusIn } from "./focus.js";
import { layout } from "./plane.js";
import { steppers } from "./steppers.js";
import { parsePlace, placeText } from "./walk.js";
import { formulaLine } from "./value_head.js";

const FORWARD = ["attn", "scores", "attn_kept"];
const BACK = ["d_attn", "d_scores", "d_attn_kept"];
const views = new WeakMap();

export async function render(root, route, context) {
  const view = new AttentionView(root, context);
  views.set(root, view);
  await view.show(route);
}

// The address changed within this view.
export async function update(root, route) {
  return views.get(root)?.change(route) ?? false;
}

// The layers of a trace that attend, in the order of the computation.
export function layers(trace) {
  const found = trace.entries.filter((entry) => entry.kind === "value" && /(^|\.)attn$/.test(entry.path));
  return found.map((entry) => entry.scope ?? entry.path.replace(/\.?attn$/, ""));
}

class AttentionView {
  constructor(root, context) {
    Object.assign(this, { root, context, t: context.t, trace: context.trace });
    this.box = new CellBox(this.root, () => this.close());
    context.keys({
      Escape: () => this.close(),
      "[": () => this.chart?.rescale(0.5),
      "]": () => this.chart?.rescale(2),
      "{": () => this.layer(-1),
      "}": () => this.layer(1),
      ",": () => this.head(-1),
      ".": () => this.head(1),
      v: () => this.turn(),
    });
  }

  async show(route, take = false) {
    const { t, trace, context, root } = this;
    const focused = focusIn(root);
    this.inner?.abort();
    this.inner = new AbortController();
    context.signal.addEventListener("abort", () => this.inner.abort(), { once: true });
    const { signal } = this.inner;
    this.own = { ...context, signal };
    this.route = route;
    this.scopes = trace ? layers(trace) : [];
    this.scope = route.rest || this.scopes[0];
    if (!this.scopes.length || !this.scopes.includes(this.scope)) {
      const message = this.scopes.length || !route.rest ? t("attention.none") : t("error.path", { path: route.rest });
      fill(root, h("h1", { class: "title" }, t("attention.title")), h("p", { class: "notice" }, this.scopes.length ? t("error.path", { path: route.rest }) : message), this.chooser());
      return;
    }
    this.names = this.available();
    const wish = (route.query.show ?? "").replace(/^d_/, "");
    const name = this.names.find((one) => one.replace(/^d_/, "") === wish) ?? this.names[0];
    this.name = name;
    this.entry = trace.entry(`${this.scope}.${name}`);
    if (!this.entry) {
      fill(root, this.header(name), h("p", { class: "notice" }, t("value.gone")));
      return;
    }
    this.chart = new Chart(
      this.own,
      this.entry,
      {
        open: (place) => this.context.change({ at: placeText(place), head: null }, false),
        window: (win) => this.context.change({ win }),
        limit: (limit) => this.context.change({ limit: limit === null ? null : String(limit) }),
        pick: (axis, place) => {
          this.step(axis, place);
          this.chart.heat.element.scrollIntoView({ block: "nearest" });
        },
      },
      { compact: false },
    );
    await this.chart.load();
    if (signal.aborted) {
      return;
    }
    this.layout = layout(this.entry.axes, this.entry.shape, { rows: "t", columns: "s" });
    this.stepBox = h("div", { class: "value-steps" });
    const main = h("div", { class: "value-main" }, this.stepBox, this.chart.element);
    fill(root, this.header(name), h("div", { class: "value-body" }, main, this.box.element));
    this.place();
    await this.box.show(this.own, this.entry, this.query, take);
    if (focused) {
      root.querySelector(focused)?.focus({ preventScroll: true });
    }
  }

  // The maps that this layer keeps in the present direction.
  available() {
    const { trace, scope, context } = this;
    const seen = new Set();
    return (context.direction === "back" ? BACK : FORWARD).filter((name) => {
      const entry = trace.entry(`${scope}.${name}`);
      const fresh = entry && trace.has(entry.path) && entry.axes.includes("t") && entry.axes.includes("s") && !seen.has(entry.path);
      seen.add(entry?.path);
      return fresh;
    });
  }

  header(name) {
    const { t, scope, context, entry } = this;
    const option = (one) => h("button", { type: "button", "aria-pressed": String(one === name), "data-show": one, onclick: () => context.change({ show: one, limit: null, at: this.query.at ?? null }) }, one);
    return h(
      "header",
      { class: "map-head" },
      h(
        "div",
        { class: "value-line" },
        h("h1", { class: "title value-title" }, `${t("attention.title")} `, h("span", { class: "soft" }, scope)),
        this.chooser(),
        h("div", { class: "segmented mono", role: "group", "aria-label": t("attention.which") }, this.names.map(option)),
        entry ? h("a", { class: "button small", "data-action": "value", href: context.href("value", entry.path) }, t("attention.value")) : null,
      ),
      h("p", { class: "soft" }, t(`attention.about.${name}`)),
      entry ? formulaLine(this.trace, entry, t) : null,
    );
  }

  // Which layer: a list, and a step up or down.
  chooser() {
    const { t, scopes, scope } = this;
    if (!scopes.length) {
      return null;
    }
    const here = scopes.indexOf(scope);
    const arrow = (by, sign) => {
      const name = t(by < 0 ? "value.layer.before" : "value.layer.after");
      return h("button", { type: "button", class: "button small", "data-action": by < 0 ? "layer-before" : "layer-after", "aria-label": name, title: name, disabled: !scopes[here + by], onclick: () => this.layer(by) }, sign);
    };
    const select = h("select", { "aria-label": t("value.layer"), "data-action": "layer", onchange: (event) => this.to(event.target.value) }, scopes.map((one) => h("option", { value: one, selected: one === scope }, one)));
    return h("div", { class: "value-layers", role: "group", "aria-label": t("value.layer") }, arrow(-1, "\u2039"), select, arrow(1, "\u203a"));
  }

  get query() {
    return this.route.query;
  }

  to(scope) {
    const { show, head, pos } = this.query;
    this.context.go({ view: "attention", rest: scope, query: { show, head, pos } });
  }

  layer(by) {
    const next = this.scopes[this.scopes.indexOf(this.scope) + by];
    if (next) {
      this.to(next);
    }
    return true;
  }

  get at() {
    const { entry, query } = this;
    const open = parsePlace(query.at, entry.shape);
    const batch = Number(/b(\d+)/.exec(query.pos ?? "")?.[1] ?? 0);
    const named = { b: batch, h: Number(query.head) || 0 };
    return open ?? entry.shape.map((size, axis) => Math.min(named[entry.axes[axis]] ?? 0, size - 1));
  }

  head(by) {
    const axis = this.entry?.axes.indexOf("h") ?? -1;
    if (axis < 0) {
      return false;
    }
    const next = this.at[axis] + by;
    if (next >= 0 && next < this.entry.shape[axis]) {
      this.step(axis, next);
      this.context.announce(`${this.t("value.axis.h")} ${next}`);
    }
    return true;
  }

  step(axis, place) {
    const next = this.at.map((own, other) => (other === axis ? place : own));
    const of = (letter) => next[this.entry.axes.indexOf(letter)] ?? 0;
    const at = this.query.at === undefined ? null : placeText(next);
    this.context.change({ head: String(of("h")), pos: of("b") ? `b${of("b")}` : null, at });
  }

  // From the weights to the scores and back.
  turn() {
    const next = (this.names.indexOf(this.name) + 1) % this.names.length;
    this.context.change({ show: this.names[next], limit: null });
    return true;
  }

  place() {
    const { entry, query, at, layout: axes } = this;
    const open = parsePlace(query.at, entry.shape);
    this.chart.show({ layout: axes, at, window: query.win ?? null, limit: Number(query.limit) || null, cursor: open ?? (this.chart.layout ? null : at), open: open !== null });
    const on = { step: (axis, place) => this.step(axis, place), lay: null };
    fill(this.stepBox, steppers(this.own, entry, axes, at, on));
  }

  close() {
    if (this.query.at === undefined) {
      return false;
    }
    const of = (letter) => this.at[this.entry.axes.indexOf(letter)] ?? 0;
    this.context.change({ at: null, terms: null, head: String(of("h")), pos: of("b") ? `b${of("b")}` : null }, false);
    this.chart.heat.stage.focus({ preventScroll: true });
    return true;
  }

  async change(route) {
    const before = this.route;
    const anew = before.rest !== route.rest || ["show", "dir"].some((key) => before.query[key] !== route.query[key]);
    if (anew || !this.entry) {
      await this.show(route);
      return true;
    }
    this.route = route;
    this.place();
    if (["at", "digits", "terms"].some((key) => before.query[key] !== route.query[key])) {
      await this.box.show(this.own, this.entry, this.query, before.query.at !== route.query.at);
    }
    return true;
  }
}
