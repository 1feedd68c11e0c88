// A tree of a formula becomes a function: in a large sum it runs a million times.

import { FUNCTIONS, OPERATORS, total } from "./arithmetic.js";
import { real } from "./nodes.js";

// A function without arguments that gives the value of a part where a frame's letters stand.
export function compile(frame, node) {
  switch (node[0]) {
    case "number": {
      const value = real(node[1]);
      return () => value;
    }
    case "index": {
      const { now } = frame;
      const slot = frame.slots.get(node[1]);
      return () => now[slot];
    }
    case "scalar": {
      const value = frame.owner.scalar(node[1]);
      return () => value;
    }
    case "entry":
      return entry(frame, node);
    case "negative": {
      const part = compile(frame, node[1]);
      return () => -part();
    }
    case "op":
      return joined(node[1], compile(frame, node[2]), compile(frame, node[3]));
    case "call":
      return call(frame, node);
    case "reduction": {
      const part = compile(frame, node[3]);
      return () => total(node[1], frame.along(node[2], part));
    }
    default:
      throw new Error(`a formula can't hold ${node[0]}`);
  }
}

function call(frame, [, name, given]) {
  const made = given.map((part) => compile(frame, part));
  if (name === "where") {
    const [condition, yes, no] = made;
    return () => (condition() ? yes() : no());
  }
  const [work, part] = [FUNCTIONS[name], made[0]];
  return () => work(Number(part()));
}

// What sums are made of stands here by itself: it saves a call a term.
function joined(operator, left, right) {
  switch (operator) {
    case "+":
      return () => left() + right();
    case "-":
      return () => left() - right();
    case "*":
      return () => left() * right();
    case "/":
      return () => left() / right();
    default: {
      const operate = OPERATORS[operator];
      return () => operate(left(), right());
    }
  }
}

function entry(frame, [, name, indices]) {
  const { owner, now } = frame;
  const short = owner.frame(name);
  if (short) {
    const place = flat(frame, name, indices, short);
    return () => short.atFlat(place());
  }
  const array = owner.array(name);
  const { data, strides } = array;
  if (array.truth) {
    const place = flat(frame, name, indices, array);
    return () => data[place()] !== 0;
  }
  const slots = indices.map(([kind, letter]) => (kind === "index" ? frame.slots.get(letter) : -1));
  const [one, two, three] = slots;
  if (slots.length === 2 && !slots.includes(-1)) {
    return () => data[now[one] * strides[0] + now[two] * strides[1]];
  }
  if (slots.length === 3 && !slots.includes(-1)) {
    return () => data[now[one] * strides[0] + now[two] * strides[1] + now[three] * strides[2]];
  }
  const place = flat(frame, name, indices, array);
  return () => data[place()];
}

// Where an entry lies among all of its array.
function flat(frame, name, indices, { shape, strides }) {
  const made = indices.map((index) => compile(frame, index));
  return () => {
    let place = 0;
    for (let axis = 0; axis < made.length; axis += 1) {
      const at = made[axis]();
      if (!(at >= 0 && at < shape[axis])) {
        throw new RangeError(`place ${at} is outside ${name} (0 to ${shape[axis] - 1})`);
      }
      place += at * strides[axis];
    }
    return place;
  };
}
