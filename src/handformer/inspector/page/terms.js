// What an entry is the sum of: the terms of its formula's outermost sums, each with its value.
//
//     scores[0,3] = sum(c, q[0,c] * k[3,c]) / sqrt(d_k)     q[0,0] * k[3,0] / sqrt(d_k), ...
//
// What multiplies or divides a sum is put to each of its terms, so that the terms add up to the
// entry itself. What stands inside a function, a power or a divisor isn't taken apart: it doesn't
// add up.

import { total } from "./arithmetic.js";
import { greatest, unflatten, unroll, without } from "./expand.js";
import { walk } from "./nodes.js";

// {shown, count, rest}: the greatest terms, and what the others come to. Of each the tree, the
// value, the share of all magnitudes; where the letters of its sum stand, and the tree before they
// stood there.
export function termsOf(frame, most) {
  const strands = apart(frame, frame.formula.body, new Set(), true);
  const starts = [0];
  const every = [];
  for (const { letters, body } of strands) {
    for (const value of frame.terms(["reduction", "sum", letters, body])) {
      every.push(value);
    }
    starts.push(every.length);
  }
  const weight = total("sum", every.map(Math.abs));
  const shown = [];
  const taken = [];
  for (const at of greatest("sum", every, most)) {
    if (every[at] === 0 && every.length > 1) {
      break; // these add nothing: what a condition leaves out, what a mask hides
    }
    const strand = starts.findIndex((start) => start > at) - 1;
    const { letters, body } = strands[strand];
    const counts = letters.map((letter) => frame.sizes.get(letter));
    const place = unflatten(at - starts[strand], counts);
    frame.stand(letters, place);
    const node = unroll(frame, body, most);
    taken.push(at);
    const value = every[at];
    const share = weight ? Math.abs(value) / weight : 0;
    shown.push({ node, value, share, letters, place, pattern: body });
  }
  const others = without(every, taken);
  return { shown, count: others.length, rest: total("sum", others) };
}

// Parts that add up to a node, each with the letters that it runs over. A plus is taken apart if it
// is the whole formula's, or a sum stands in it.
function apart(frame, node, running, whole) {
  const [kind, operator] = node;
  const sign = kind === "op" ? operator : kind;
  if (kind === "call" && operator === "where") {
    const [condition, yes, no] = node[2];
    if (stands(condition, running)) {
      return apart(frame, frame.value(condition) ? yes : no, running, whole);
    }
  }
  if (kind === "negative" && (whole || hasSum(node[1]))) {
    return negated(apart(frame, node[1], running, whole));
  }
  if ((sign === "+" || sign === "-") && (whole || hasSum(node))) {
    const behind = apart(frame, node[3], running, whole);
    const before = apart(frame, node[2], running, whole);
    return [...before, ...(sign === "-" ? negated(behind) : behind)];
  }
  if ((sign === "*" || sign === "/") && hasSum(node[2])) {
    const found = apart(frame, node[2], running, false);
    return found.map(({ letters, body }) => ({ letters, body: ["op", sign, body, node[3]] }));
  }
  if (sign === "*" && hasSum(node[3])) {
    const found = apart(frame, node[3], running, false);
    return found.map(({ letters, body }) => ({ letters, body: ["op", sign, node[2], body] }));
  }
  if (isSum(node)) {
    return summed(frame, node, running);
  }
  return [{ letters: [], body: node }];
}

function summed(frame, [, kind, letters, body], running) {
  const inner = apart(frame, body, new Set([...running, ...letters]), false);
  const found = inner.map((one) => ({ letters: [...letters, ...one.letters], body: one.body }));
  if (kind === "sum") {
    return found;
  }
  const count = letters.reduce((product, letter) => product * frame.sizes.get(letter), 1);
  return found.map((one) => ({ ...one, body: ["op", "/", one.body, ["number", count]] }));
}

function negated(strands) {
  return strands.map(({ letters, body }) => ({ letters, body: ["negative", body] }));
}

function isSum(node) {
  return node[0] === "reduction" && node[1] !== "max";
}

// Whether a sum stands where its terms can be had one by one.
function hasSum(node) {
  switch (node[0]) {
    case "reduction":
      return isSum(node);
    case "negative":
      return hasSum(node[1]);
    case "op":
      if (node[1] === "/") {
        return hasSum(node[2]);
      }
      return ["+", "-", "*"].includes(node[1]) && (hasSum(node[2]) || hasSum(node[3]));
    case "call":
      return node[1] === "where" && (hasSum(node[2][1]) || hasSum(node[2][2]));
    default:
      return false;
  }
}

// Whether a condition is the same for all terms.
function stands(condition, running) {
  return [...walk(condition)].every(([kind, letter]) => kind !== "index" || !running.has(letter));
}
