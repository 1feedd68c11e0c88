// A tree as plain text, in the formula language itself.

import { short, whole } from "./number.js";
import { real } from "./nodes.js";

// How tightly an operator binds.
const BINDING = {
  or: 1, and: 2, "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, "+": 4, "-": 4, "*": 5,
  "/": 5, "//": 5, "%": 5, "**": 7,
};
const COMPARISON = 3;
const SUM = 4;
const PRODUCT = 5;
const NEGATIVE = 6;
const POWER = 7;
const ATOM = 9;

// `digits`: the significant digits of numbers, all of them where null.
export function text(node, digits = null) {
  const write = (part) => text(part, digits);
  switch (node[0]) {
    case "number":
      return amount(node[1], digits);
    case "index":
    case "scalar":
      return node[1];
    case "entry":
      return `${node[1]}[${node[2].map(write).join(",")}]`;
    case "negative":
      return `-${right(node[1], NEGATIVE, write)}`;
    case "op":
      return operation(node, write);
    case "call":
      return `${node[1]}(${node[2].map(write).join(", ")})`;
    case "reduction":
      return `${node[1]}(${[...node[2], write(node[3])].join(", ")})`;
    case "list":
      return list(node, write);
    case "rest":
      return `(${node[1]} more: ${amount(node[2], digits)})`;
    default:
      throw new Error(`a tree can't hold ${node[0]}`);
  }
}

// A whole formula of a sheet, {name, axes, body}.
export function formulaText({ name, axes, body }) {
  const left = axes.length > 0 ? `${name}[${axes}]` : name;
  return `${left} = ${text(body)}`;
}

function amount(value, digits) {
  return digits === null ? whole(value) : short(value, digits);
}

function operation([, operator, first, second], write) {
  const strength = BINDING[operator];
  // Comparisons don't chain, powers group to the right, all else to the left.
  const before = strength + (strength === COMPARISON || strength === POWER ? 1 : 0);
  const behind = strength + (strength === POWER ? 0 : 1);
  const last = strength === COMPARISON ? left : right;
  return `${left(first, before, write)} ${operator} ${last(second, behind, write)}`;
}

function list([, kind, terms], write) {
  if (kind !== "sum" || terms.length === 0) {
    return `${kind}(${terms.map(write).join(", ")})`;
  }
  const [first, ...others] = terms;
  const rest = others.map((term) => right(term, PRODUCT, write));
  return [left(first, SUM, write), ...rest].join(" + ");
}

function left(node, least, write) {
  return binding(node) < least ? `(${write(node)})` : write(node);
}

// Behind an operator: `a - (-b)`.
function right(node, least, write) {
  const found = left(node, least, write);
  return found.startsWith("-") ? `(${found})` : found;
}

function binding(node) {
  switch (node[0]) {
    case "op":
      return BINDING[node[1]];
    case "list":
      return node[1] === "sum" ? SUM : ATOM;
    case "negative":
      return NEGATIVE;
    case "number":
      return real(node[1]) < 0 ? NEGATIVE : ATOM;
    default:
      return ATOM;
  }
}
