// A formula over several lines: left = side = side, and sums that break where the page is narrow.

import { h } from "./dom.js";
import { math } from "./math.js";
import { t } from "./words.js";

const DIGITS = 4;
const SIGNS = new Set(["+", "−"]);

// left = side = side, a line each. A side is [tree, options], or [null, an element made already].
export function lines(left, sides, label = null) {
  const rows = sides.map(([tree, given], line) => [
    h("span", { class: "tour-left" }, line === 0 ? typeset(left) : null),
    h("span", { class: "tour-equals", "aria-hidden": "true" }, "="),
    h("span", { class: "tour-side scroll-x" }, tree ? typeset(tree, given) : given),
  ]);
  const only = h("span", { class: "tour-left" }, rows.length === 0 ? typeset(left) : null);
  return h("div", { class: "tour-sides", role: label ? "group" : null, "aria-label": label }, rows.length > 0 ? rows : only);
}

// A tree in MathML, with the page's words in it.
export function typeset(tree, options = {}) {
  const words = { if: t("tour.if"), otherwise: t("tour.otherwise"), more: t("tour.more") };
  return h("span", { class: "tour-math" }, broken(math(tree, { words, ...options })));
}

// As many digits as the numbers that a formula itself names, but at least four.
export function digits(tree) {
  if (tree[0] === "number") {
    const written = String(tree[1]).replace(/e.*/, "").replace(/\D/g, "").replace(/^0+/, "");
    return Math.max(DIGITS, written.length);
  }
  return Math.max(DIGITS, ...tree.flat(2).filter(Array.isArray).map(digits));
}

// A browser doesn't break within <math>: a sum at the top becomes one <math> a term.
function broken(whole) {
  const pieces = terms(whole.firstElementChild);
  return pieces.length > 1 ? pieces.map((piece) => wrapped(whole, piece)) : [whole];
}

// The elements of a row from one plus or minus to the next; of the first term in turn.
function terms(row) {
  const inside = row.localName === "mrow" ? [...row.children] : [];
  const isSign = (one, place) => place > 0 && one.localName === "mo" && SIGNS.has(one.textContent);
  if (!inside.some(isSign)) {
    return [[row]];
  }
  const pieces = [[]];
  inside.forEach((one, place) => {
    if (isSign(one, place)) {
      one.setAttribute("form", "infix");
      pieces.push([]);
    }
    pieces.at(-1).push(one);
  });
  const [[first, ...more], ...others] = pieces;
  return more.length === 0 ? [...terms(first), ...others] : pieces;
}

function wrapped(whole, piece) {
  const made = whole.cloneNode(false);
  made.append(...piece);
  return made;
}
