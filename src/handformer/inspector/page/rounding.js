// What rounding explains: how far a stored number may be from its formula and nothing be wrong.
//
// A running error analysis, the same as Python's: beside its value every part of a formula carries
// its magnitude (the terms of its sums without their signs) and a bound of its error. The stored
// numbers that it starts from are taken as exact; u is the error of one rounding in the stored type
// and one in ours.
//
//     a + b, a - b, sum    errors add up, and u times the magnitude for each term that isn't 0
//     a * b, a / b         what the errors of both sides come to, and u times the magnitude
//     f(a), a ** b         how far the function moves with its argument, and 4 u
//     max, where           the greatest error of what there is to choose from; that of the chosen
//     // % < == and        exact

import { FUNCTIONS, OPERATORS, total } from "./arithmetic.js";

const TYPES = {
  float64: { eps: 2 ** -52, tiny: 2 ** -1022 },
  float32: { eps: 2 ** -23, tiny: 2 ** -126 },
  float16: { eps: 2 ** -10, tiny: 2 ** -14 },
};
const FUNCTION = 4; // what a function may be off, in units of a rounding
const EXACT = new Set(["//", "%", "<", "<=", ">", ">=", "==", "!=", "and", "or"]);
// Numbers of the config that count something; JSON doesn't tell 1 from 1.0.
export const COUNTS = /^(d_model|d_k|d_ff|n_.*|vocab_size|source_vocab_size|context|group|step)$/;

// The greatest difference that rounding explains between a number of the type `dtype` and its
// formula, where the frame's letters stand; 0 for whole numbers and truth values.
export function rounding(frame, dtype) {
  const type = TYPES[dtype];
  if (!type) {
    return 0;
  }
  const unit = (type.eps + TYPES.float64.eps) / 2;
  return new Bounds(unit, type.tiny).estimate(frame, frame.formula.body).error;
}

class Bounds {
  constructor(unit, least) {
    this.unit = unit;
    this.least = least; // what a product may lose below the smallest normal number
    this.floats = new Map(); // whether a node gives a float, by node
    this.known = new Map(); // estimates of abbreviations, by frame and flat place
  }

  // {value, size, error} of a part where the frame's letters stand.
  estimate(frame, node) {
    switch (node[0]) {
      case "entry":
      case "scalar":
        return this.named(frame, node);
      case "number": {
        const value = frame.value(node);
        return this.written(value);
      }
      case "negative": {
        const part = this.estimate(frame, node[1]);
        return { ...part, value: 0 - part.value };
      }
      case "op":
        return this.operation(frame, node);
      case "call":
        return this.call(frame, node);
      case "reduction":
        return this.reduced(frame, node);
      default:
        return exact(frame.value(node));
    }
  }

  named(frame, node) {
    const [kind, name, indices = []] = node;
    const { owner } = frame;
    if (kind === "scalar" && owner.isBare(name)) {
      return this.written(owner.scalar(name));
    }
    if (!owner.isShort(name)) {
      return exact(frame.value(node));
    }
    const short = owner.frame(name);
    let flat = 0;
    for (let axis = 0; axis < indices.length; axis += 1) {
      flat += frame.value(indices[axis]) * short.strides[axis];
    }
    return this.behind(short, flat);
  }

  // The estimate of an abbreviation at a place, worked out once.
  behind(short, flat) {
    if (!this.known.has(short)) {
      this.known.set(short, new Map());
    }
    const known = this.known.get(short);
    if (!known.has(flat)) {
      short.standAt(flat);
      known.set(flat, this.estimate(short, short.formula.body));
    }
    return known.get(flat);
  }

  // A number of the formula or the config was rounded when it came into the arrays' type.
  written(value) {
    const inexact = Number.isFinite(value) && !Number.isInteger(value);
    return estimate(value, Math.abs(value), inexact ? this.unit * Math.abs(value) : 0);
  }

  operation(frame, node) {
    const [, operator, left, right] = node;
    if (EXACT.has(operator)) {
      return exact(frame.value(node));
    }
    const [a, b] = [this.estimate(frame, left), this.estimate(frame, right)];
    if (operator === "**") {
      return this.power(a, b);
    }
    const value = OPERATORS[operator](a.value, b.value);
    const isFloat = this.isFloat(frame, node);
    const unit = isFloat ? this.unit : 0;
    const lost = isFloat ? this.least : 0;
    if (operator === "*") {
      const size = a.size * b.size;
      const error = Math.abs(a.value) * b.error + Math.abs(b.value) * a.error + a.error * b.error;
      return estimate(value, size, error + unit * size + lost);
    }
    if (operator === "/") {
      const below = Math.abs(b.value) - b.error;
      const unknown = b.error > 0 ? Infinity : 0; // a divisor that may be 0 tells nothing
      const error = below > 0 ? (a.error + Math.abs(value) * b.error) / below : unknown;
      const size = a.size / Math.abs(b.value);
      return estimate(value, size, error + unit * size + lost);
    }
    const size = a.size + b.size;
    return estimate(value, size, a.error + b.error + unit * size);
  }

  power(a, b) {
    const value = OPERATORS["**"](a.value, b.value);
    const size = Math.abs(value);
    if (b.error === 0 && Number.isInteger(b.value) && b.value > 0) {
      // A whole power of a number near 0 moves little, though its logarithm moves much.
      return this.called(value, (Math.abs(a.value) + a.error) ** b.value - size);
    }
    const least = Math.max(Math.abs(a.value) - a.error, TYPES.float64.tiny);
    const moved =
      Math.abs(b.value) * Math.log1p(a.error / least) + Math.abs(Math.log(least)) * b.error;
    return this.called(value, size * Math.expm1(moved));
  }

  call(frame, [, name, given]) {
    if (name === "where") {
      const [condition, yes, no] = given;
      return this.estimate(frame, frame.value(condition) ? yes : no);
    }
    const { value, error } = this.estimate(frame, given[0]);
    const moved = error > 0 ? MOVED[name](value, error) : 0;
    return this.called(FUNCTIONS[name](Number(value)), moved);
  }

  called(value, error) {
    const own = Number.isFinite(value) ? FUNCTION * this.unit * (Math.abs(value) + error) : 0;
    return estimate(value, Math.abs(value), error + own + this.least);
  }

  reduced(frame, node) {
    const [, kind, letters, body] = node;
    const [values, sizes, errors] = [[], [], []];
    frame.visit(letters, () => {
      const part = this.estimate(frame, body);
      values.push(part.value);
      sizes.push(part.size);
      errors.push(part.error);
    });
    const value = total(kind, values);
    if (kind === "max") {
      return estimate(value, Math.abs(value), total("max", [0, ...errors]));
    }
    const unit = this.isFloat(frame, body) ? this.unit : 0;
    const added = total("sum", sizes);
    const terms = sizes.filter((size) => size !== 0).length;
    const bound = total("sum", errors) + unit * terms * added;
    if (kind === "sum") {
      return estimate(value, added, bound);
    }
    const count = Math.max(values.length, 1);
    const mean = added / count;
    return estimate(value, mean, bound / count + this.unit * mean + this.least);
  }

  // Whether a part gives a float: whole numbers aren't rounded.
  isFloat(frame, node) {
    if (!this.floats.has(node)) {
      this.floats.set(node, this.kind(frame, node));
    }
    return this.floats.get(node);
  }

  kind(frame, node) {
    const has = (part) => this.isFloat(frame, part);
    switch (node[0]) {
      case "number":
        return !Number.isInteger(frame.value(node));
      case "scalar":
      case "entry":
        return this.isFloatName(frame, node);
      case "negative":
        return has(node[1]);
      case "op":
        return node[1] === "/" || node[1] === "**" || (!EXACT.has(node[1]) && has(node[2])) ||
          (!EXACT.has(node[1]) && has(node[3]));
      case "call":
        return node[1] !== "where" || has(node[2][1]) || has(node[2][2]);
      case "reduction":
        return node[1] === "mean" || has(node[3]);
      default:
        return false;
    }
  }

  isFloatName({ owner }, [kind, name]) {
    if (kind === "scalar" && owner.isBare(name)) {
      return !(COUNTS.test(name) && Number.isInteger(owner.scalar(name)));
    }
    const short = owner.frame(name);
    return short ? this.isFloat(short, short.formula.body) : owner.array(name).floats;
  }
}

// How far a function moves, at most, when its argument does, by as much as its error.
const MOVED = {
  exp: (x, error) => Math.exp(x) * Math.expm1(error),
  log: (x, error) => -Math.log1p(-Math.min(error / x, 1)),
  sqrt: (x, error) => Math.sqrt(x) - Math.sqrt(Math.max(x - error, 0)),
  tanh: (x, error) => error / Math.cosh(Math.max(Math.abs(x) - error, 0)) ** 2,
  erf: (x, error) =>
    (2 / Math.sqrt(Math.PI)) * error * Math.exp(-(Math.max(Math.abs(x) - error, 0) ** 2)),
  sin: (x, error) => error,
  cos: (x, error) => error,
};

function exact(value) {
  return estimate(value, Math.abs(value), 0);
}

function estimate(value, size, error) {
  return { value, size, error };
}
