// The trees of formulas, as JSON holds them: a few kinds of nodes, and how to walk and change them.
//
//   ["number", value]            ["op", "+", left, right]     ["reduction", "sum", letters, body]
//   ["index", letter]            ["negative", part]           ["list", "sum", terms]
//   ["scalar", name]             ["call", "exp", parts]       ["rest", count, value]
//   ["entry", name, places]

// The parts directly below a node, in the order of the text.
export function parts(node) {
  switch (node[0]) {
    case "op":
      return [node[2], node[3]];
    case "entry":
    case "call":
    case "list":
      return node[2];
    case "negative":
      return [node[1]];
    case "reduction":
      return [node[3]];
    default:
      return [];
  }
}

// A node and everything below it, parents first, in the order of the text.
export function* walk(node) {
  yield node;
  for (const part of parts(node)) {
    yield* walk(part);
  }
}

// The same node with each of its parts put through `change`.
export function each(node, change) {
  switch (node[0]) {
    case "op":
      return ["op", node[1], change(node[2]), change(node[3])];
    case "entry":
    case "call":
    case "list":
      return [node[0], node[1], node[2].map(change)];
    case "negative":
      return ["negative", change(node[1])];
    case "reduction":
      return ["reduction", node[1], node[2], change(node[3])];
    default:
      return node;
  }
}

// A number as JSON holds it: what isn't finite is a word there.
export function plain(value) {
  if (typeof value !== "number" || Number.isFinite(value)) {
    return value;
  }
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// The number that JSON holds.
export function real(value) {
  return typeof value === "string" ? Number(value.replace("inf", "Infinity")) : value;
}

// A number as a leaf of a tree.
export function number(value) {
  return ["number", plain(value)];
}

// The place of an entry whose letters are all in their places.
export function placeOf(entry) {
  return entry[2].map(([, at]) => at);
}
