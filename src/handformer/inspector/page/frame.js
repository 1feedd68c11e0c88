// One formula under evaluation: its letters, how far they run, and where each stands just now.

import { compile } from "./compile.js";
import { join } from "./names.js";
import { walk } from "./nodes.js";
import { strides } from "./tensors.js";

// The size that a letter runs over where no array of the formula tells it.
export const SIZES = {
  e: "n_batch", t: "n_queries", s: "n_keys", h: "n_heads", g: "n_kv_heads", c: "d_k",
  p: "n_pairs", i: "d_model", j: "d_model", f: "d_ff", n: "vocab_size", m: "vocab_size",
  l: "n_layers",
};

export class Frame {
  // `owner`: see scope.js; `known`: sizes that needn't be worked out.
  constructor(owner, formula, known = null) {
    this.owner = owner;
    this.formula = formula;
    this.sizes = known ?? sizes(owner, formula);
    this.slots = new Map([...this.sizes.keys()].map((letter, slot) => [letter, slot]));
    this.now = new Array(this.slots.size).fill(0);
    this.shape = formula.axes.map((letter) => this.sizes.get(letter));
    this.strides = strides(this.shape);
    this.made = new Map(); // functions by node
    this.known = new Map(); // the formula's own numbers, by flat place
  }

  // Puts some letters in their places.
  stand(letters, place) {
    letters.forEach((letter, axis) => {
      this.now[this.slots.get(letter)] = place[axis];
    });
  }

  // Puts the letters of the left where the entry with this number stands.
  standAt(flat) {
    const place = this.strides.map((step, axis) => Math.floor(flat / step) % this.shape[axis]);
    this.stand(this.formula.axes, place);
  }

  // Where some letters stand.
  standing(letters) {
    return letters.map((letter) => this.now[this.slots.get(letter)]);
  }

  // The number that a part comes to where the letters stand.
  value(node) {
    return this.work(node)();
  }

  // The value of the whole formula at a place of its own axes, evaluated once.
  at(place) {
    return this.atFlat(place.reduce((sum, step, axis) => sum + step * this.strides[axis], 0));
  }

  atFlat(flat) {
    let found = this.known.get(flat);
    if (found === undefined) {
      this.standAt(flat);
      found = this.value(this.formula.body);
      this.known.set(flat, found);
    }
    return found;
  }

  // The terms of a sum or maximum, in their order: the last letter runs fastest.
  terms(reduction) {
    return this.along(reduction[2], this.work(reduction[3]));
  }

  along(letters, part) {
    const count = letters.reduce((product, letter) => product * this.sizes.get(letter), 1);
    const found = new Float64Array(count);
    let term = 0;
    this.visit(letters, () => {
      found[term] = part();
      term += 1;
    });
    return found;
  }

  // Calls an action at every place of some letters.
  visit(letters, action) {
    const { now } = this;
    const slots = letters.map((letter) => this.slots.get(letter));
    const counts = letters.map((letter) => this.sizes.get(letter));
    if (counts.includes(0)) {
      return;
    }
    const before = this.standing(letters);
    this.stand(letters, letters.map(() => 0));
    for (let axis = 0; axis >= 0; ) {
      action();
      axis = slots.length - 1;
      while (axis >= 0 && (now[slots[axis]] += 1) === counts[axis]) {
        now[slots[axis]] = 0;
        axis -= 1;
      }
    }
    this.stand(letters, before);
  }

  work(node) {
    if (!this.made.has(node)) {
      this.made.set(node, compile(this, node));
    }
    return this.made.get(node);
  }
}

// How far each letter runs: told by the arrays on the right, or else from outside.
function sizes(owner, formula) {
  const told = new Map();
  const letters = new Set(formula.axes);
  for (const node of walk(formula.body)) {
    if (node[0] === "reduction") {
      node[2].forEach((letter) => letters.add(letter));
    } else if (node[0] === "entry") {
      const shape = owner.shape(node[1]);
      if (shape.length !== node[2].length) {
        throw new Error(`${node[1]} has ${shape.length} axes, not ${node[2].length}`);
      }
      node[2].forEach(([kind, letter], axis) => {
        if (kind === "index" && (told.get(letter) ?? shape[axis]) !== shape[axis]) {
          throw new Error(`${letter} runs over ${told.get(letter)} and ${shape[axis]} places`);
        }
        if (kind === "index") {
          told.set(letter, shape[axis]);
        }
      });
    }
  }
  const own = owner.trace.entry(join(owner.path, formula.name))?.shape ?? [];
  for (const letter of letters) {
    if (!told.has(letter)) {
      told.set(letter, fromOutside(owner, letter, own[formula.axes.indexOf(letter)]));
    }
  }
  return told;
}

// `i` and `j` stand for other widths too than the config's; of the others the config knows best.
function fromOutside(owner, letter, own) {
  const config = owner.scalars[SIZES[letter]];
  const size = own !== undefined && ("ij".includes(letter) || config === undefined) ? own : config;
  if (size === undefined) {
    throw new Error(`nothing tells how far ${letter} runs`);
  }
  return size;
}
