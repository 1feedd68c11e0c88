// The small arrays of a worked example as tables, with some of their cells marked.

import { h } from "./dom.js";
import { short, whole } from "./number.js";
import { t } from "./words.js";

// The number of a nested list at a place.
export function at(array, place) {
  return place.reduce((inside, step) => inside[step], array.value);
}

// How a place of an array is written: q[0,1]; a value without axes has only its name.
export function label(name, place) {
  return place.length > 0 ? `${name}[${place.join(",")}]` : name;
}

// An array as tables: one for a matrix, of three axes one for each matrix, and where a number is
// rounded the same with every digit, to be opened.
//
//   axes     what the formula calls the axes: letters, or what they come from, as in h // group
//   visible  says of a place whether its number may be seen yet
export function arrayTables(name, array, axes = [], visible = () => true) {
  const make = (text) => matrices(array.shape).map((front) => matrix(name, array, front, axes, text));
  const open = (place) => (visible(place) ? short(at(array, place)) : null);
  const shown = h("div", { class: "tour-array" }, h("div", { class: "tour-matrices" }, make(open)));
  const places = cells(array.shape).filter((place) => visible(place));
  if (places.some((place) => isRounded(at(array, place)))) {
    const all = (place) => (visible(place) ? whole(at(array, place)) : null);
    const digits = h("div", { class: "tour-matrices" }, make(all));
    shown.append(h("details", { class: "tour-digits" }, h("summary", {}, t("tour.digits")), digits));
  }
  return shown;
}

// Marks the cells of these [name, place] in the tables of an element, and no others, with a class.
export function mark(root, kind, places) {
  const marked = new Set(places.map(([name, place]) => label(name, place)));
  for (const cell of root.querySelectorAll("td[data-cell]")) {
    cell.classList.toggle(kind, marked.has(cell.dataset.cell));
  }
}

export function isRounded(value) {
  return typeof value === "number" && Number(short(value)) !== value;
}

// With the true minus sign, as wide as a plus.
export function minus(text) {
  return text.replace(/^-/, "−").replace(/e-/, "e−");
}

// The matrix behind some first places. A row of numbers has no places down, a single number none.
function matrix(name, array, front, axes, text) {
  const [columns = 1, rows = 1] = array.shape.slice(-2).reverse();
  const one = (place) => cell(label(name, place), at(array, place), text(place));
  const lines = range(rows).map((row) => {
    const places = range(columns).map((column) => [...front, row, column].slice(-array.shape.length || Infinity));
    const head = array.shape.length > 1 ? h("th", { scope: "row" }, row) : h("td", {});
    return h("tr", {}, array.shape.length > 0 ? head : null, places.map(one));
  });
  const across = range(columns).map((column) => h("th", { scope: "col" }, column));
  const heads = array.shape.length > 0 ? h("tr", {}, corner(array.shape, axes), across) : null;
  const caption = h("caption", {}, h("code", {}, label(name, front)));
  return h("table", { class: "tour-matrix" }, caption, h("thead", {}, heads), h("tbody", {}, lines));
}

function cell(name, value, shown) {
  const known = shown !== null;
  const attributes = {
    title: known && isRounded(value) ? whole(value) : null,
    class: known ? null : "unseen",
    dataset: { cell: name },
  };
  const inside = known ? minus(shown) : h("span", { "aria-label": t("tour.hidden") }, "?");
  return h("td", attributes, inside);
}

// The letters of the rows and of the columns.
function corner(shape, axes) {
  const [columns = "", rows = ""] = shape.map((_, axis) => axes[axis]).slice(-2).reverse();
  return h("td", { class: "corner" }, rows ? h("i", {}, rows) : null, rows && columns ? " \\ " : null, columns ? h("i", {}, columns) : null);
}

// The places of all axes before the last two.
function matrices(shape) {
  return cells(shape.slice(0, -2));
}

function cells(shape) {
  return shape.reduce((found, size) => found.flatMap((place) => range(size).map((step) => [...place, step])), [[]]);
}

function range(count) {
  return Array.from({ length: count }, (_, place) => place);
}
