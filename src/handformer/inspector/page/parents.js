// The entries that stand in an expression, under the paths where their values are made; and the
// tokens that terms belong to.

import { unroll } from "./expand.js";
import { join } from "./names.js";
import { parts, placeOf, walk } from "./nodes.js";

const POSITIONS = "tsru";
const ENTRIES = "nm";

// Parents in the formula of a frame that stands at its place. `most`: how many terms of a sum are
// looked at where an abbreviation is one.
export class Parents {
  constructor(frame, most) {
    this.frame = frame;
    this.scope = frame.owner;
    this.most = most;
    this.known = new Map(); // what stands in abbreviations, by name and place
  }

  // {path, place, value} of the entries in a tree that is written out, each once.
  of(tree) {
    const found = new Map();
    this.entries(tree, found);
    return [...found.values()];
  }

  // The same for the formula's own tree, and what it asks to choose and to look up.
  all(tree) {
    const found = new Map();
    this.entries(tree, found);
    for (const condition of asked(this.frame.formula.body)) {
      this.entries(unroll(this.frame, condition, this.most), found);
    }
    return [...found.values()];
  }

  entries(tree, found) {
    const { scope } = this;
    for (const node of walk(tree)) {
      const [kind, name] = node;
      if (kind !== "entry" && (kind !== "scalar" || scope.isBare(name))) {
        continue;
      }
      const place = kind === "entry" ? placeOf(node) : [];
      if (scope.isShort(name)) {
        this.behind(scope.frame(name), place).forEach((one, key) => found.set(key, one));
      } else if (scope.stored(name)) {
        const { path } = scope.trace.entry(join(scope.path, name));
        found.set(`${path} ${place}`, { path, place, value: scope.at(name, place) });
      }
    }
  }

  // The entries that an abbreviation comes from.
  behind(frame, place) {
    const key = `${frame.formula.name} ${place}`;
    if (!this.known.has(key)) {
      const found = new Map();
      frame.stand(frame.formula.axes, place);
      this.entries(unroll(frame, frame.formula.body, this.most), found);
      this.known.set(key, found);
    }
    return this.known.get(key);
  }

  // The spelling of the token that a term belongs to, if its sum runs over tokens; or null.
  token({ pattern, letters, place }) {
    const at = new Map(letters.map((letter, axis) => [letter, place[axis]]));
    const runs = (letter) => at.has(letter) && (POSITIONS + ENTRIES).includes(letter[0]);
    if (!letters.some(runs)) {
      return null;
    }
    this.frame.stand(letters, place);
    const { scope } = this;
    for (const [kind, name, indices] of walk(pattern)) {
      if (kind !== "entry" || scope.isShort(name)) {
        continue;
      }
      const { path, axes } = scope.trace.entry(join(scope.path, name));
      const batch = axes.indexOf("b");
      const row = batch < 0 ? 0 : this.frame.value(indices[batch]);
      for (const [axis, [, letter]] of indices.entries()) {
        const found =
          indices[axis][0] === "index" && runs(letter)
            ? scope.trace.tokenText(axes[axis], at.get(letter), row, path)
            : null;
        if (found !== null) {
          return found;
        }
      }
    }
    return null;
  }
}

// Conditions and places in which no letter runs: what decides, and where to look.
function* asked(node) {
  if (node[0] === "reduction") {
    return;
  }
  if (node[0] === "call" && node[1] === "where") {
    yield node[2][0];
  }
  if (node[0] === "entry") {
    yield* node[2];
  }
  for (const part of parts(node)) {
    yield* asked(part);
  }
}
