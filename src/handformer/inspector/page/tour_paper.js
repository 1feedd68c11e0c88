// What a reader has worked out or had shown; and whether a number found on paper is right.

const CLOSE = 0.005; // a result on paper may be off by half a percent
const seen = new Set(); // what has been shown stays so while the page is open, in any language

// One step of an example: which of its numbers may be seen.
export class Paper {
  constructor(example, step) {
    this.key = `${example.name}/${step.name}`;
    this.places = step.entries.map((entry) => String(entry.place));
    const size = example.arrays[step.name].shape.reduce((product, one) => product * one, 1);
    this.complete = this.places.length === size;
  }

  get isWhole() {
    return seen.has(this.key) || (this.complete && this.places.every((place) => this.isSeen(place)));
  }

  isSeen(place) {
    return seen.has(this.key) || seen.has(`${this.key}/${place}`);
  }

  show(place) {
    seen.add(`${this.key}/${place}`);
  }

  showAll() {
    seen.add(this.key);
  }
}

// How many steps of an example have been shown whole.
export function countSeen(example) {
  return example.steps.filter((step) => new Paper(example, step).isWhole).length;
}

// A number as people write it: 0.25, 0,25, 1/4, -inf, true; null for anything else.
export function readNumber(text) {
  const plain = text.trim().toLowerCase().replaceAll("−", "-").replace("∞", "inf").replace(/^(-?\d*),(\d+)$/, "$1.$2");
  const words = { true: true, false: false, 真: true, 假: false, inf: Infinity, "+inf": Infinity, "-inf": -Infinity };
  if (Object.hasOwn(words, plain)) {
    return words[plain];
  }
  const parts = plain.split("/").map((part) => (/^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/.test(part) ? Number(part) : NaN));
  const [above, below = 1] = parts;
  return parts.length > 2 || !Number.isFinite(above / below) ? null : above / below;
}

// Whether a number is near enough to the whole one.
export function isRight(given, value) {
  const right = typeof value === "string" ? readNumber(value) : value;
  if (typeof right === "boolean" || !Number.isFinite(right)) {
    return given === right;
  }
  return typeof given === "number" && Math.abs(given - right) <= CLOSE * Math.abs(right) + 1e-12;
}
