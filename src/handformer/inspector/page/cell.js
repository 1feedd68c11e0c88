// One number in its arithmetic: the formula, the formula here, the numbers, the terms by weight, and where
// to go from it. What it says comes from the engine; nothing is computed here.

import { h } from "./dom.js";
import { meaning, tokenText } from "./chart.js";
import { number } from "./histogram.js";
import { equation, formulaMath, leftSide } from "./math.js";
import { join, stem } from "./names.js";
import { percent, short, whole } from "./number.js";
import { tokenLabel } from "./token_text.js";
import { givenKey, mathWords } from "./value_words.js";
import { cellHref, cellName, parseWalk } from "./walk.js";

const TERMS = [8, 32];
const LINKS = 24;

// The panel for one entry. query: that of the address (walk, digits, terms); onClose closes it.
export async function cellPanel(context, entry, place, query, onClose) {
  const { trace, t } = context;
  const steps = [...parseWalk(query.walk), { path: entry.path, at: place.join(",") || "." }];
  const keep = { digits: query.digits ?? null };
  const link = (path, at) => cellHref(context, path, at, { steps, query: keep });
  const view = { context, trace, t, entry, place, link, all: query.digits === "all" };
  const told = await trace.explain(entry.path, place, { terms: Number(query.terms) || TERMS[0] });
  const stored = told.stored ?? (await trace.number(entry.path, place));
  const meant = meaning(trace, entry, stored);
  const title = h("h2", { class: "cell-title mono", tabindex: "-1" }, cellName(entry.path, place));
  const close = h("button", { type: "button", class: "button small", "data-action": "close-cell", "aria-label": t("value.cell.close"), title: t("value.cell.close"), onclick: onClose }, "\u00d7");
  const digits = h("input", { type: "checkbox", "data-action": "digits", onchange: (event) => context.change({ digits: event.target.checked ? "all" : null }) });
  digits.checked = view.all;
  return h(
    "section",
    { class: "cell panel", "aria-label": t("value.cell.label", { name: cellName(entry.path, place, true) }), "data-cell-panel": entry.path, "data-place": place.join(",") },
    crumbs(view, steps),
    h("div", { class: "cell-head" }, title, close),
    h("p", { class: "cell-value mono", "data-stored": whole(stored) }, shownNumber(view, stored), meant ? h("span", { class: "soft" }, ` ${meant}`) : null),
    where(view),
    h("label", { class: "cell-digits soft" }, digits, t("value.cell.digits")),
    await partner(view),
    told.formula ? arithmetic(view, told) : h("p", { class: "notice", "data-given": "" }, t(givenKey(entry))),
    told.terms?.length ? terms(view, told, query) : null,
    told.formula ? sums(view, told, stored) : null,
    links(view, t("value.cell.parents"), "parents", told.parents ?? []),
    links(view, t("value.cell.users"), "users", told.users ?? []),
  );
}

function shownNumber(view, x) {
  return view.all ? h("span", { class: "number", "data-whole": whole(x) }, whole(x)) : number(x);
}

// The way here: each earlier number leads back to itself.
function crumbs({ context, trace, t }, steps) {
  if (steps.length < 2) {
    return null;
  }
  const items = steps.map(({ path, at }, place) => {
    const name = cellName(path, at === "." ? [] : at.split(","));
    if (place === steps.length - 1 || !trace.entry(path)) {
      return h("li", { "aria-current": place === steps.length - 1 ? "step" : null }, name);
    }
    return h("li", null, h("a", { href: cellHref(context, path, at, { steps: steps.slice(0, place) }), title: path }, name));
  });
  return h("nav", { class: "crumbs cell-crumbs", "aria-label": t("value.cell.walk"), "data-walk": "" }, h("ol", null, items));
}

// The place on each axis, with the texts of its tokens.
function where({ context, trace, t, entry, place }) {
  const parts = place.map((at, axis) => {
    const letter = entry.axes[axis] ?? "";
    const text = tokenText(trace, entry, letter, at, place);
    const key = `value.axis.${letter}`;
    return h("li", { title: t(key) === key ? null : t(key) }, h("i", null, letter), ` ${at}`, text === null ? null : [" ", h("span", { class: "token" }, tokenLabel(text))]);
  });
  const path = h("li", null, h("a", { class: "mono", href: context.href("value", entry.path, { at: null }) }, entry.path));
  return h("ul", { class: "cell-where" }, path, parts);
}

// The same entry's gradient, or the value that a gradient belongs to.
async function partner({ context, trace, t, entry, place, link }) {
  const gradient = trace.gradientOf(entry.path);
  const other = gradient ?? trace.valueOf(entry.path);
  const shape = other && trace.entry(other).shape;
  if (!other || !trace.has(other) || String(shape) !== String(entry.shape)) {
    return null;
  }
  const x = await trace.number(other, place);
  const words = t(gradient ? "value.cell.gradient" : "value.cell.value");
  return h("p", { class: "cell-partner" }, `${words} `, h("a", { class: "mono", href: link(other, place), "data-partner": other }, cellName(other, place)), " = ", number(x));
}

// Three lines of mathematics: for every entry, for this one, and with its numbers.
function arithmetic(view, told) {
  const { trace, t, entry, place, link } = view;
  const formula = trace.formula(entry.path);
  const name = stem(entry.path, entry.scope);
  const onEntry = (other, at) => {
    const found = trace.entry(join(entry.scope, other));
    return found ? link(found.path, at) : null;
  };
  const words = mathWords(t);
  const left = leftSide({ name, axes: entry.axes }, place);
  const digits = view.all ? null : 4;
  const result = ["number", told.value];
  const line = (key, made) => {
    const title = t(`value.cell.${key ?? "where"}`);
    return h("div", null, key ? h("h3", null, title) : null, h("div", { class: "scroll-x cell-math", "data-math": key ?? "where", tabindex: "0", role: "group", "aria-label": title }, made));
  };
  return h(
    "div",
    { class: "cell-arithmetic", "data-formula": told.formula },
    formula ? line("formula", formulaMath(formula, { words })) : null,
    line("symbols", equation([[left], [told.symbols, { onEntry }]], { words, digits })),
    line("numbers", equation([[left], [told.numbers], [result]], { words, digits })),
    shortened(trace.sheet(entry.scope), told.symbols).map((other, at) => line(at === 0 ? "where" : null, formulaMath(other, { words }))),
  );
}

// The formulas of the abbreviations that a tree mentions, and of those that they mention.
function shortened(sheet, tree, found = new Map()) {
  for (const part of Array.isArray(tree) ? tree : []) {
    const formula = typeof part === "string" ? sheet?.get(part) : null;
    if (formula && !formula.kept && !found.has(part)) {
      found.set(part, formula);
      shortened(sheet, formula.body, found);
    }
    shortened(sheet, part, found);
  }
  return [...found.values()];
}

// The greatest terms of the sum, each with its share as a bar; the others as one line.
function terms(view, told, query) {
  const { context, t } = view;
  const row = (text, x, share, extra, parents) =>
    h(
      "tr",
      { "data-term": "" },
      h("td", { class: "mono" }, parents ?? text, extra),
      h("td", { class: "number" }, shownNumber(view, x)),
      h("td", { class: "cell-share" }, share === null ? null : [bar(x, share), h("span", { class: "number", title: whole(share) }, percent(share))]),
    );
  const rows = told.terms.map((term) => row(term.text, term.value, term.share, tokens(view, term), named(view, term)));
  const rest = told.rest ? row(t("value.cell.rest", { count: told.rest.count }), told.rest.value, null, null) : null;
  const more = Number(query.terms) === TERMS[1];
  const button = told.rest || more ? h("button", { type: "button", class: "button small", "data-action": "terms", onclick: () => context.change({ terms: more ? null : TERMS[1] }) }, t(more ? "value.cell.fewer" : "value.cell.more")) : null;
  return h(
    "div",
    { class: "cell-terms" },
    h("h3", null, t("value.cell.terms")),
    h("div", { class: "scroll-x" }, h("table", { class: "table", "data-terms": "" }, h("caption", { class: "visually-hidden" }, t("value.cell.terms")), h("tbody", null, rows, rest))),
    button,
  );
}

function bar(x, share) {
  const sign = x < 0 ? "is-below" : "is-above";
  return h("span", { class: `cell-bar ${sign}`, "aria-hidden": "true" }, h("i", { style: { width: `${Math.max(1, share * 100)}%` } }));
}

// A term's text in which the entries are links: names with places, and single numbers.
function named({ trace, entry, link }, { text }) {
  const parts = [];
  let done = 0;
  for (const found of text.matchAll(/([A-Za-z_][\w.]*)(?:\[([\d,]+)\])?/g)) {
    const other = trace.entry(join(entry.scope ?? "", found[1]));
    const place = found[2] ? found[2].split(",").map(Number) : [];
    if (other && other.shape.length === place.length) {
      parts.push(text.slice(done, found.index), h("a", { href: link(other.path, place), title: other.path }, found[0]));
      done = found.index + found[0].length;
    }
  }
  return [...parts, text.slice(done)];
}

// The tokens whose places a term speaks of: those of a weight's gradient, say.
function tokens({ trace, place, entry }, term) {
  const own = new Set(place.map((at, axis) => `${entry.axes[axis]}${at}`));
  const found = new Map();
  for (const [path, at] of term.parents ?? []) {
    const other = trace.entry(path);
    at.forEach((where, axis) => {
      const letter = other?.axes[axis];
      const text = letter && letter !== "n" ? tokenText(trace, other, letter, where, at) : null;
      if (text !== null && !own.has(`${letter}${where}`)) {
        found.set(text, h("span", { class: "token", title: `${letter} ${where}` }, tokenLabel(text)));
      }
    });
  }
  return found.size ? [" ", ...found.values()] : null;
}

// The result beside the stored number, and what rounding explains of their difference.
function sums(view, told, stored) {
  const { t } = view;
  const line = (name, x) => (x === null || x === undefined ? null : h("div", { "data-sum": name, "data-whole": whole(x) }, h("dt", null, t(`value.cell.${name}`)), h("dd", { class: "mono" }, shownNumber(view, x))));
  const known = told.rounding !== null && told.rounding !== undefined;
  const within = !known || !(Math.abs(told.difference) > told.rounding);
  return h(
    "div",
    { class: "cell-sums" },
    h("dl", { class: "map-figures" }, line("result", told.value), line("stored", stored), line("difference", told.difference), line("rounding", told.rounding)),
    known && told.difference !== 0 ? h("p", { class: within ? "soft" : "error", "data-within": String(within) }, t(within ? "value.cell.within" : "value.cell.beyond")) : null,
  );
}

// Parents with their numbers, or users.
function links(view, title, name, list) {
  if (!list.length) {
    return null;
  }
  const item = ({ path, place, value }) =>
    h("li", null, h("a", { class: "mono", href: view.link(path, place), title: path, "data-path": path }, cellName(path, place, true)), value === undefined || value === null ? null : [" = ", h("span", { class: "number", title: whole(value) }, short(value))]);
  const rest = list.slice(LINKS);
  return h(
    "div",
    { class: "cell-links" },
    h("h3", null, title),
    h("ul", { "data-links": name }, list.slice(0, LINKS).map(item)),
    rest.length ? h("details", null, h("summary", null, view.t("value.cell.others", { count: rest.length })), h("ul", { "data-links": name }, rest.map(item))) : null,
  );
}
