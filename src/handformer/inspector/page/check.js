// Somebody else's numbers beside the reference: the answer, the computation as a tree, and each wrong value from both sides.

import { shapeText } from "./chart.js";
import { causes } from "./check_causes.js";
import { Checked, compared } from "./check_data.js";
import { Maps } from "./check_maps.js";
import { prose, visible } from "./check_prose.js";
import { mark, Tree, WORST } from "./check_tree.js";
import { fill, h } from "./dom.js";
import { number } from "./histogram.js";
import { formulaLine } from "./value_head.js";
import "./check_words.js";

const views = new WeakMap();

export async function render(root, route, context) {
  const told = await context.source.check();
  if (!told) {
    throw new Error(context.t("check.none"));
  }
  const view = new CheckView(root, context, new Checked(told));
  views.set(root, view);
  view.draw();
  await view.show(route);
}

// Another value, or another place in it.
export async function update(root, route) {
  await views.get(root).show(route);
}

class CheckView {
  constructor(root, context, checked) {
    Object.assign(this, { root, context, checked, t: context.t });
    this.tree = new Tree(context, checked);
    this.panel = h("section", { class: "check-value", "aria-live": "off" });
    context.keys({
      n: () => this.next(1),
      p: () => this.next(-1),
      ArrowDown: (event) => this.tree.step(event, 1),
      ArrowUp: (event) => this.tree.step(event, -1),
    });
  }

  draw() {
    const { t, context, checked } = this;
    const { told } = checked;
    const said = told.fine ? "right" : "wrong";
    const counts = WORST.filter((status) => told.counts[status]);
    fill(
      this.root,
      h("h1", { class: "title check-title", "data-status": said }, mark(said), t(told.fine ? "check.fine" : "check.differs")),
      h("p", { class: "lead check-answer", lang: "en", "data-answer": "" }, prose(context, checked, told.answer)),
      h("ul", { class: "check-counts plain" }, counts.map((status) => h("li", { "data-status": status, "data-count": status }, mark(status), `${told.counts[status]} ${t(`check.${status}`)}`))),
      unknown(told.unknown, t),
      aside(told.aside, t),
      h("div", { class: "check-body" }, this.tree.element, this.panel),
    );
  }

  async show(route) {
    const { checked, context, t } = this;
    const path = route.rest || checked.told.first || checked.told.farthest || checked.told.values[0]?.path;
    const value = checked.value(path);
    if (!value) {
      throw new Error(t("error.path", { path: path ?? "" }));
    }
    this.path = path;
    this.tree.choose(path);
    if (this.maps?.path === path) {
      this.maps.place(route.query); // the same value, elsewhere
      return;
    }
    this.inner?.abort();
    this.inner = new AbortController();
    const { signal } = this.inner;
    context.signal.addEventListener("abort", () => this.inner.abort(), { once: true });
    const entry = context.trace.entry(path);
    const sides = await checked.sides(path, context.trace);
    if (signal.aborted) {
      return;
    }
    this.maps = entry && sides ? new Maps({ ...context, signal }, value, entry, sides) : null;
    fill(this.panel, this.heading(value, entry), this.numbers(value), causes(context, checked, value), this.maps?.element);
    await this.maps?.load(route.query);
  }

  heading(value, entry) {
    const { t, context, checked } = this;
    const cut = value.path.lastIndexOf(".") + 1;
    const called = value.called && value.called !== value.path ? h("span", { "data-called": "" }, `${t("check.called")} `, h("span", { class: "mono" }, visible(value.called))) : null;
    const known = entry && entry.kept !== false;
    const link = known ? h("a", { class: "button small", "data-action": "reference", href: context.href("value", value.path, { dir: /gradient/.test(entry.kind) ? "back" : null }) }, t("check.reference")) : null;
    const since = value.since.map((path) => h("li", null, h("a", { class: "mono", href: context.href("check", path) }, path)));
    return h(
      "header",
      { class: "map-head", "data-value": value.path, "data-status": value.status },
      h("div", { class: "value-line" }, h("h2", { class: "check-path mono" }, h("span", { class: "soft" }, value.path.slice(0, cut)), value.path.slice(cut)), h("span", { class: "check-badge", "data-status": value.status }, mark(value.status), t(`check.${value.status}`)), link),
      h("p", { class: "value-facts soft" }, h("span", { class: "mono" }, entry ? shapeText(entry) || t("value.scalar") : value.shape.join(" × ")), called),
      entry && !value.causes.some(({ at }) => at === value.path) ? formulaLine(context.trace, entry, t) : null,
      since.length ? h("div", null, h("p", { class: "soft check-since" }, t("check.since")), h("ul", { class: "plain" }, since)) : null,
      value.note && h("p", { lang: "en" }, prose(context, checked, value.note)),
    );
  }

  // How far it is off, and what rounding explains.
  numbers(value) {
    const { t, context } = this;
    const found = compared(value);
    if (!found) {
      return null;
    }
    const entry = context.trace.entry(value.path);
    const letters = found.place.map((at, axis) => `${entry?.axes[axis] ?? ""} ${at}`.trim());
    const figures = [["theirs", found.theirs], ["rightly", found.right], ["off", found.off], ["allowed", found.allowed]];
    const line = ([name, x]) => h("div", { "data-figure": name }, h("dt", null, t(`check.${name}`)), h("dd", null, number(x)));
    const where = h("div", { "data-figure": "place" }, h("dt", null, t("check.place")), h("dd", { class: "mono" }, letters.join(", ") || "–"));
    const many = h("div", { "data-figure": "count" }, h("dt", null, t("check.count")), h("dd", null, t("check.of", { count: found.count, all: found.of })));
    return h("dl", { class: "map-figures panel" }, figures.map(line), where, many);
  }

  // The next or the last wrong value, in the order of the computation.
  next(by) {
    const { wrong } = this.checked;
    if (!wrong.length) {
      return false;
    }
    const at = wrong.findIndex(({ path }) => path === this.path);
    const to = at < 0 ? 0 : (at + by + wrong.length) % wrong.length;
    this.context.go({ view: "check", rest: wrong[to].path });
    return true;
  }
}

// Names that are known, and nothing in this case, each with the reason.
function aside(names, t) {
  const found = Object.entries(names);
  const item = ([name, why]) => h("li", null, h("span", { class: "mono" }, visible(name)), ": ", h("span", { lang: "en" }, visible(why)));
  return found.length ? h("details", { class: "check-unknown" }, h("summary", null, t("check.aside", { count: found.length })), h("ul", null, found.map(item))) : null;
}

// Names of the dump that nothing here goes by.
function unknown(names, t) {
  const found = Object.entries(names);
  if (!found.length) {
    return null;
  }
  const item = ([name, near]) => h("li", null, h("span", { class: "mono" }, visible(name)), near.length ? [` ${t("check.near")} `, near.map((one, at) => [at ? ", " : "", h("span", { class: "mono" }, one)])] : null);
  return h("details", { class: "check-unknown", open: found.length < 4, "data-unknown": "" }, h("summary", null, t("check.unknown", { count: found.length })), h("ul", null, found.map(item)));
}
