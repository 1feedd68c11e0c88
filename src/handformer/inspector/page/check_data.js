// A check as the page holds it: what is said of every value, and the numbers of both sides where they differ.

import { decode, fromBase64, strides } from "./tensors.js";

export const WRONG = new Set(["wrong", "layout", "unreadable"]);

export class Checked {
  constructor(told) {
    this.told = told;
    this.values = new Map(told.values.map((value) => [value.path, value]));
    this.wrong = told.values.filter(({ status }) => WRONG.has(status));
  }

  value(path) {
    return this.values.get(path);
  }

  // Their numbers, the right ones and the difference, {theirs, right, difference}; null where they can't be laid on
  // each other. Without numbers of its own, the right side is the reference.
  async sides(path, trace) {
    const theirs = this.array("theirs", path);
    if (!theirs) {
      return null;
    }
    const right = this.array("right", path) ?? (trace.has(path) ? await trace.array(path) : null);
    if (!right || String(right.shape) !== String(theirs.shape)) {
      return null;
    }
    return { theirs, right, difference: between(theirs, right) };
  }

  array(side, path) {
    const tensor = this.told.tensors[side][path];
    return tensor ? decode(tensor, fromBase64(this.told.data, ...tensor.offsets)) : null;
  }
}

// The comparison that decides: by itself where that could be done, else with the reference. Of what is right in either
// way it is the one that says so.
export function compared({ local, against, status }) {
  const both = local && against && status === "right";
  return both && part(against) < part(local) ? against : (local ?? against);
}

// How much of what rounding explains is used up.
function part({ off, allowed }) {
  return allowed > 0 ? off / allowed : Number(off);
}

// Theirs minus the right ones; where both are the same, infinite too, it is 0.
function between(theirs, right) {
  const data = Float64Array.from(theirs.data, (x, at) => (Object.is(x, right.data[at]) ? 0 : x - right.data[at]));
  return { data, shape: theirs.shape, strides: strides(theirs.shape) };
}
