// The names that the formulas of a layer mention, with what stands behind each: an array of the
// trace, a formula of its own (an abbreviation, evaluated where it is asked for), or a bare number.

import { CONSTANTS } from "./arithmetic.js";
import { Frame } from "./frame.js";
import { join } from "./names.js";
import { walk } from "./nodes.js";

export class Scope {
  constructor(trace, path) {
    this.trace = trace;
    this.path = path;
    this.scalars = trace.scalars(path);
    this.known = new Map(); // whether a name is stored
    this.arrays = new Map();
    this.frames = new Map();
  }

  // Reads the arrays that some trees need; only then can they be evaluated.
  async read(...nodes) {
    const found = new Set();
    nodes.forEach((node) => this.find(node, found));
    const read = async (name) => {
      const { path, dtype } = this.trace.entry(join(this.path, name));
      const kind = { truth: dtype === "bool", floats: dtype.includes("float") };
      this.arrays.set(name, { ...(await this.trace.array(path)), ...kind });
    };
    const missing = [...found].filter((name) => this.stored(name) && !this.arrays.has(name));
    await Promise.all(missing.map(read));
  }

  // All names in a tree, and in the formulas behind them.
  find(tree, found) {
    for (const [kind, name] of walk(tree)) {
      const named = kind === "entry" || (kind === "scalar" && !this.isBare(name));
      if (named && !found.has(name)) {
        found.add(name);
        if (!this.stored(name)) {
          this.find(this.formula(name).body, found);
        }
      }
    }
  }

  // {values, short} of all that a formula mentions, and its abbreviations: the names of the values,
  // whether their numbers are there or not, and the formulas of the abbreviations.
  mentioned(formula) {
    const found = { values: [], short: [] };
    const waiting = [formula];
    const seen = new Set();
    while (waiting.length > 0) {
      const nodes = [...walk(waiting.pop().body)];
      const entries = nodes.filter(([kind]) => kind === "entry");
      const bare = nodes.filter(([kind, name]) => kind === "scalar" && !this.isBare(name));
      for (const [, name] of [...entries, ...bare]) {
        if (seen.has(name)) {
          continue;
        }
        seen.add(name);
        const own = this.trace.sheet(this.path)?.get(name);
        if (!this.stored(name) && own?.kept === false) {
          waiting.push(own);
          found.short.push(own);
        } else {
          found.values.push(name);
        }
      }
    }
    return found;
  }

  // Whether there is an array behind a name.
  stored(name) {
    if (!this.known.has(name)) {
      this.known.set(name, this.trace.has(join(this.path, name)));
    }
    return this.known.get(name);
  }

  // Whether a name stands for what its formula says: there never was an array of it.
  isShort(name) {
    return !this.stored(name) && this.formula(name).kept === false;
  }

  formula(name) {
    const found = this.trace.sheet(this.path)?.get(name);
    if (!found) {
      throw new Error(`${join(this.path, name)} isn't in this trace`);
    }
    return found;
  }

  // Whether a name without places is a number of the config, or a constant.
  isBare(name) {
    return name in CONSTANTS || name in this.scalars;
  }

  // {data, shape, strides, truth, floats} of a name that is stored and was read.
  array(name) {
    return this.arrays.get(name);
  }

  // What evaluates a name that isn't stored; undefined for one that is.
  frame(name) {
    if (!this.frames.has(name) && !this.stored(name)) {
      this.frames.set(name, new Frame(this, this.formula(name)));
    }
    return this.frames.get(name);
  }

  shape(name) {
    return this.frame(name)?.shape ?? this.trace.entry(join(this.path, name)).shape;
  }

  // A number of the config, a constant, or a value without axes.
  scalar(name) {
    return CONSTANTS[name] ?? this.scalars[name] ?? this.at(name, []);
  }

  // The number at a place of a name.
  at(name, place) {
    const frame = this.frame(name);
    if (frame) {
      return frame.at(place);
    }
    const { data, strides, truth } = this.array(name);
    const value = data[place.reduce((sum, step, axis) => sum + step * strides[axis], 0)];
    return truth ? value !== 0 : value;
  }

  // Refuses a place that isn't there.
  inside(name, place) {
    const shape = this.shape(name);
    const fits = place.every((at, axis) => Number.isInteger(at) && at >= 0 && at < shape[axis]);
    if (!fits || place.length !== shape.length) {
      throw new RangeError(`there is no place ${place} in ${name} of the shape ${shape}`);
    }
  }
}
