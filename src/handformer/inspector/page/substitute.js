// Abbreviations exchanged for what they stand for, where a formula is to be read without them.
//
//     attn[t,s] = exp(scores[t,s] - top[t])       top[t] := max(r, scores[t,r])
//               = exp(scores[t,s] - max(r', scores[t,r']))

import { Frame } from "./frame.js";
import { each } from "./nodes.js";

// A frame of a formula with every abbreviation written out; their letters get new names.
export function writtenOut(scope, formula) {
  const sizes = new Map(new Frame(scope, formula).sizes);
  const body = exchange(scope, sizes, formula.body);
  return new Frame(scope, { ...formula, body }, sizes);
}

function exchange(scope, sizes, node) {
  const [kind, name, indices = []] = node;
  const named = kind === "entry" || (kind === "scalar" && !scope.isBare(name));
  if (!named || !scope.isShort(name)) {
    return each(node, (part) => exchange(scope, sizes, part));
  }
  const { formula, sizes: own } = scope.frame(name);
  const places = indices.map((index) => exchange(scope, sizes, index));
  const put = new Map(formula.axes.map((letter, axis) => [letter, places[axis]]));
  for (const [letter, size] of own) {
    if (!put.has(letter)) {
      const fresh = `${letter}'${sizes.size}`;
      sizes.set(fresh, size);
      put.set(letter, ["index", fresh]);
    }
  }
  return exchange(scope, sizes, putIn(formula.body, put));
}

function putIn(node, places) {
  if (node[0] === "index") {
    return places.get(node[1]) ?? node;
  }
  const change = (part) => putIn(part, places);
  if (node[0] === "reduction") {
    const letters = node[2].map((letter) => places.get(letter)?.[1] ?? letter);
    return ["reduction", node[1], letters, change(node[3])];
  }
  return each(node, change);
}
