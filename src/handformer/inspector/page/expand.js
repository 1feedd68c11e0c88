// One entry of a value as a tree: the formula at one place, then with numbers put in.
//
// Letters become places, sums are written out (their greatest terms, the others in one), `where`
// becomes the side that was taken.

import { FUNCTIONS, OPERATORS, total } from "./arithmetic.js";
import { each, number, placeOf, plain, real } from "./nodes.js";

// A part of a frame's formula where its letters stand, with none left free; of a sum at most so
// many terms are written out (all where `terms` is null), and those that are 0 with the others.
export function unroll(frame, node, terms) {
  switch (node[0]) {
    case "index":
      return number(frame.value(node));
    case "entry": {
      const place = node[2].map((index) => frame.value(index));
      frame.owner.inside(node[1], place);
      return ["entry", node[1], place.map(number)];
    }
    case "call":
      if (node[1] === "where") {
        return unroll(frame, frame.value(node[2][0]) ? node[2][1] : node[2][2], terms);
      }
      break;
    case "reduction":
      return listing(frame, node, terms);
    default:
  }
  return each(node, (part) => unroll(frame, part, terms));
}

// An unrolled tree with every name replaced by its number.
export function numbered(scope, node) {
  if (node[0] === "entry") {
    return number(scope.at(node[1], placeOf(node)));
  }
  if (node[0] === "scalar") {
    return number(scope.scalar(node[1]));
  }
  return each(node, (part) => numbered(scope, part));
}

// The result of a tree that holds nothing but numbers.
export function compute(node) {
  switch (node[0]) {
    case "number":
      return real(node[1]);
    case "rest":
      return real(node[2]);
    case "negative":
      return -compute(node[1]);
    case "op":
      return OPERATORS[node[1]](compute(node[2]), compute(node[3]));
    case "list":
      return total(node[1], node[2].map(compute));
    case "call":
      return FUNCTIONS[node[1]](Number(compute(node[2][0])));
    default:
      throw new Error(`${node[0]} is no number`);
  }
}

function listing(frame, node, terms) {
  const [, reduction, letters, body] = node;
  const kind = reduction === "max" ? "max" : "sum";
  const counts = letters.map((letter) => frame.sizes.get(letter));
  const count = counts.reduce((product, size) => product * size, 1);
  const rest = [];
  let shown = null;
  if (terms !== null && count > terms) {
    const found = frame.terms(node);
    const most = kind === "max" ? terms : Math.min(terms, found.filter((x) => x !== 0).length);
    shown = greatest(kind, found, most).sort((one, other) => one - other);
    const others = without(found, shown);
    rest.push(["rest", others.length, plain(total(kind, others))]);
  }
  shown ??= Array.from({ length: count }, (_, term) => term);
  const before = frame.standing(letters);
  const written = shown.map((term) => {
    frame.stand(letters, unflatten(term, counts));
    return unroll(frame, body, terms);
  });
  frame.stand(letters, before);
  const all = [...written, ...rest];
  let list = ["list", kind, all];
  if (all.length < 2) {
    list = all[0] ?? number(total(kind, []));
  }
  return reduction === "mean" ? ["op", "/", list, number(count)] : list;
}

// The numbers that don't stand at some places.
export function without(found, places) {
  const gone = new Uint8Array(found.length);
  for (const place of places) {
    gone[place] = 1;
  }
  return found.filter((_, place) => gone[place] === 0);
}

// Which terms are the greatest: by magnitude, of a maximum by value; the greatest first, of equals
// the one before, and what is no number last.
export function greatest(kind, found, keep) {
  const weights = found.map((value) => {
    const weight = kind === "max" ? value : Math.abs(value);
    return Number.isNaN(weight) ? -Infinity : weight;
  });
  const kept = [];
  for (let term = 0; term < weights.length && keep > 0; term += 1) {
    if (kept.length === keep && !(weights[term] > weights[kept[keep - 1]])) {
      continue;
    }
    let at = kept.length;
    while (at > 0 && weights[term] > weights[kept[at - 1]]) {
      at -= 1;
    }
    kept.splice(at, 0, term);
    kept.length = Math.min(kept.length, keep);
  }
  return kept;
}

// The places along some axes of the number that counts through all of them, the last one fastest.
export function unflatten(term, counts) {
  const place = new Array(counts.length);
  let left = term;
  for (let axis = counts.length - 1; axis >= 0; axis -= 1) {
    place[axis] = left % counts[axis];
    left = Math.floor(left / counts[axis]);
  }
  return place;
}
