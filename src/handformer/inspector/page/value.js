// One value: its map, its gradient beside it, what its numbers are like, and one of them in its arithmetic.

import { CellBox } from "./cell_box.js";
import { Chart } from "./chart.js";
import { fill, h } from "./dom.js";
import { focusIn } from "./focus.js";
import { figures, histogram } from "./histogram.js";
import { last } from "./names.js";
import { layout } from "./plane.js";
import { parsePlace, placeText } from "./walk.js";
import { steppers } from "./steppers.js";
import { heading } from "./value_head.js";

const STAND = ["rows", "cols", "many", "side"]; // when one of these changes, the view is built anew

export async function render(root, route, context) {
  const view = new ValueView(root, context);
  views.set(root, view);
  await view.show(route);
}

// The address changed within this view.
export async function update(root, route) {
  const view = views.get(root);
  return view ? view.change(route) : false;
}

const views = new WeakMap();

class ValueView {
  constructor(root, context) {
    Object.assign(this, { root, context, t: context.t, trace: context.trace });
    this.box = new CellBox(this.root, () => this.close());
    context.keys({
      Escape: () => this.close(),
      "[": () => this.charts[0]?.rescale(0.5),
      "]": () => this.charts[0]?.rescale(2),
      "{": () => this.layer(-1),
      "}": () => this.layer(1),
      v: () => this.side(this.query.side === "both" ? null : "both"),
    });
  }

  async show(route, take = false) {
    const { t, trace, context } = this;
    const focused = focusIn(this.root);
    this.inner?.abort();
    this.inner = new AbortController();
    context.signal.addEventListener("abort", () => this.inner.abort(), { once: true });
    const signal = this.inner.signal;
    this.own = { ...context, signal, direction: context.direction };
    this.route = route;
    this.charts = [];
    this.entry = trace?.entry(route.rest);
    if (!this.entry) {
      throw new Error(t("error.path", { path: route.rest }));
    }
    const { entry } = this;
    const partner = this.partnerOf(entry);
    const body = h("div", { class: "value-body" });
    const head = heading(context, entry, [this.layerLinks(), partner ? this.sides(partner) : null, this.attentionLink()]);
    if (entry.kept === false) {
      fill(this.root, head, h("p", { class: "notice" }, t("value.gone")));
      return;
    }
    const shown = route.query.side === "both" && partner ? [entry, partner] : [entry];
    // The value before its gradient, whichever of them was asked for.
    const ordered = shown.sort((one, other) => isBack(one) - isBack(other));
    this.charts = ordered.map((one) => this.chart(one));
    await Promise.all(this.charts.map((chart) => chart.load()));
    if (signal.aborted) {
      return;
    }
    this.spread();
    const [one, other] = this.charts;
    if (other) {
      one.heat.on.hover = (cell) => other.heat.echo(cell);
      other.heat.on.hover = (cell) => one.heat.echo(cell);
    }
    this.stepBox = h("div", { class: "value-steps" });
    const maps = h("div", { class: ordered.length > 1 ? "value-maps value-maps-two" : "value-maps" }, this.charts.map((chart) => this.titled(chart)));
    const stats = h("div", { class: "value-stats" });
    fill(body, h("div", { class: "value-main" }, this.stepBox, maps), this.box.element, stats);
    fill(this.root, head, body);
    this.place();
    document.title = [entry.path, context.source.about.title, "handformer"].join(" \u00b7 ");
    await this.box.show(this.own, this.entry, this.query, take);
    if (focused && !take) {
      this.root.querySelector(focused)?.focus({ preventScroll: true });
    }
    this.statistics(stats, signal).catch((error) => {
      if (!signal.aborted) {
        throw error;
      }
    });
  }

  partnerOf(entry) {
    const path = this.trace.gradientOf(entry.path) ?? this.trace.valueOf(entry.path);
    const other = path && this.trace.entry(path);
    return other && other.kept !== false && String(other.shape) === String(entry.shape) ? other : null;
  }

  get query() {
    return this.route.query;
  }

  // Value, gradient, or both at once.
  sides(partner) {
    const { t, entry, query } = this;
    const both = query.side === "both";
    const [value, gradient] = isBack(entry) ? [partner, entry] : [entry, partner];
    const option = (key, pressed, act) => h("button", { type: "button", "aria-pressed": String(pressed), "data-side": key, onclick: act }, t(`value.side.${key}`));
    return h(
      "div",
      { class: "segmented", role: "group", "aria-label": t("value.side") },
      option("value", !both && entry === value, () => this.turnTo(value)),
      option("gradient", !both && entry === gradient, () => this.turnTo(gradient)),
      option("both", both, () => this.side("both")),
    );
  }

  // The same value one layer further, as links.
  layerLinks() {
    const link = (step, sign) => {
      const path = this.layerPath(step);
      const name = this.t(step < 0 ? "value.layer.before" : "value.layer.after");
      const onclick = (event) => {
        if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
          event.preventDefault();
          this.layer(step); // with the place of now
        }
      };
      return path ? h("a", { class: "button small", href: this.context.href("value", path, this.kept()), "data-action": step < 0 ? "layer-before" : "layer-after", "aria-label": name, title: `${name}: ${path}`, onclick }, sign) : null;
    };
    const made = [link(-1, "\u2039"), link(1, "\u203a")].filter(Boolean);
    return made.length ? h("nav", { class: "value-layers", "aria-label": this.t("value.layer") }, h("span", { class: "soft" }, this.t("value.layer")), made) : null;
  }

  layerPath(step) {
    const path = this.entry.path.replace(/\.(\d+)\./, (_, at) => `.${Number(at) + step}.`);
    const found = path !== this.entry.path && this.trace.entry(path);
    return found && found.kept !== false ? path : null;
  }

  layer(step) {
    const path = this.layerPath(step);
    if (path) {
      this.context.go({ view: "value", rest: path, query: this.kept() });
    }
    return path !== null;
  }

  attentionLink() {
    const { scope, axes } = this.entry;
    const fits = scope && axes.includes("h") && axes.includes("t") && axes.includes("s") && this.trace.has(`${scope}.attn`);
    this.toHeads = fits ? h("a", { class: "button small", "data-action": "attention", href: this.context.href("attention", scope) }, this.t("value.attention")) : null;
    return this.toHeads;
  }

  // What of the address stays when the same is looked at in another value.
  kept(more = {}) {
    const keys = ["rows", "cols", "many", "side", "pos", "at", "win", "digits"];
    return { ...Object.fromEntries(keys.map((key) => [key, this.query[key] ?? null])), ...more };
  }

  turnTo(entry) {
    this.context.go({ view: "value", rest: entry.path, query: this.kept({ side: null, dir: isBack(entry) ? "back" : null }) });
  }

  side(side) {
    this.context.change({ side });
    return true;
  }

  chart(entry) {
    const own = entry === this.entry;
    const query = () => ({ ...this.kept(), limit: own ? (this.query.limit ?? null) : null });
    return new Chart(this.own, entry, {
      open: (place) => {
        this.context.go(this.context.href("value", entry.path, { ...query(), at: placeText(place) }));
      },
      window: (win) => this.context.change({ win }),
      limit: (limit) => {
        if (own) {
          this.context.change({ limit: limit === null ? null : String(limit) });
        } else {
          this.otherLimit = limit;
          this.place();
        }
      },
      pick: (axis, place) => this.step(axis, place),
    });
  }

  titled(chart) {
    return this.charts.length > 1 ? h("div", null, h("h2", { class: "mono value-sub" }, chart.entry.path), chart.element) : chart.element;
  }

  // Where every axis stands: at the opened cell, or where it was stepped to.
  get at() {
    const { entry, query } = this;
    const open = parsePlace(query.at, entry.shape);
    const steps = new Map((query.pos ?? "").split(",").map((step) => [step[0], Number(step.slice(1))]));
    // A head may be named alone, as links to one do.
    const named = (letter) => steps.get(letter) ?? ("hg".includes(letter) && letter ? Number(query.head ?? 0) : 0);
    return open ?? entry.shape.map((size, axis) => Math.min(Math.max(0, named(entry.axes[axis] ?? "") || 0), size - 1));
  }

  spread() {
    const { entry, query } = this;
    this.layout = layout(entry.axes, entry.shape, { rows: query.rows, columns: query.cols, many: query.many });
  }

  step(axis, place) {
    const { entry, query, at } = this;
    const next = at.map((own, other) => (other === axis ? place : own));
    const still = entry.axes.map((letter, other) => [letter, next[other], other]).filter(([, , other]) => other !== this.layout.rows && other !== this.layout.columns);
    const pos = still.map(([letter, own]) => `${letter}${own}`).join(",");
    this.context.change({ pos, head: null, at: query.at === undefined ? null : placeText(next) });
  }

  // Puts all maps where the address says.
  place() {
    const { entry, query, layout: axes, at } = this;
    const open = parsePlace(query.at, entry.shape);
    for (const chart of this.charts) {
      const limit = chart.entry === entry ? Number(query.limit) || null : (this.otherLimit ?? null);
      chart.show({ layout: axes, at, window: query.win ?? null, limit, cursor: open ?? (chart.layout ? null : at), open: open !== null });
    }
    const head = at[entry.axes.indexOf("h")] ?? null;
    this.toHeads?.setAttribute("href", this.context.href("attention", entry.scope, { head, show: last(entry.path) }));
    fill(this.stepBox, steppers(this.own, entry, axes, at, { step: (axis, place) => this.step(axis, place), lay: (change) => this.context.change({ ...change, win: null }) }));
  }

  close() {
    if (this.query.at === undefined) {
      return false;
    }
    const at = this.at;
    const pos = this.entry.axes.map((letter, axis) => `${letter}${at[axis]}`).join(",");
    this.context.change({ at: null, walk: null, terms: null, pos: pos || null }, false);
    this.charts[0]?.heat.stage.focus({ preventScroll: true });
    return true;
  }

  async statistics(box, signal) {
    for (const chart of this.charts) {
      const part = h("div", { class: "value-stat panel" }, figures(chart.found, this.t));
      box.append(part);
      if (chart.found.count > 1) {
        part.append(await histogram(chart.array.data, chart.found, chart.scale, this.t, signal));
      }
    }
  }

  async change(route) {
    const before = this.route;
    const turned = before.rest === route.rest && (before.query.dir ?? "") !== (route.query.dir ?? "");
    const partner = turned && this.entry && this.partnerOf(this.entry);
    if (partner && isBack(partner) === (route.query.dir === "back")) {
      this.route = route;
      this.context.replace({ view: "value", rest: partner.path, query: this.kept() });
      return true;
    }
    if (before.rest !== route.rest || STAND.some((key) => before.query[key] !== route.query[key])) {
      const within = this.root.contains(document.activeElement);
      await this.show(route, within && route.query.at !== undefined);
      return true;
    }
    this.route = route;
    const opens = ["at", "walk", "digits", "terms"].some((key) => before.query[key] !== route.query[key]);
    this.place();
    if (opens) {
      await this.box.show(this.own, this.entry, this.query, before.query.at !== route.query.at);
    }
    return true;
  }
}

function isBack(entry) {
  return /gradient/.test(entry.kind);
}
