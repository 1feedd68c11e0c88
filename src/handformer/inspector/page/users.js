// Which entries of a value need a given entry of another: a formula read backwards.
//
//     q[t,c] = sum(i, x[t,i] * w[i,h*d_k + c])      x[2,5] is needed for q[2,*], w[5,7] for q[*,3]
//
// Letters that stand alone in the places of what is needed are known at once. Index arithmetic,
// look-ups and conditions are solved by trying all places of the letters in them.

import { join } from "./names.js";
import { parts, walk } from "./nodes.js";
import { Scope } from "./scope.js";
import { writtenOut } from "./substitute.js";

const MOST = 64; // entries of one value: a token may occur a thousand times
const MOST_TRIED = 10_000_000;

// What uses an entry, in the order of the layers: {using: [{path, place}, ...], more}, of one value
// at most 64, and how many more do. What the trace was written without is left out.
export async function users(trace, entry, place) {
  let more = 0;
  const found = new Map();
  for (const path of [entry.path, ...(entry.also ?? [])]) {
    for (const [at, name] of layers(trace, path)) {
      const scope = new Scope(trace, at);
      for (const formula of trace.sheet(at).values()) {
        const user = trace.entry(join(at, formula.name));
        if (!formula.kept || !trace.has(user?.path) || !mentions(scope, formula, name)) {
          continue;
        }
        const places = await usersIn(scope, formula, name, place).catch(() => []); // it doesn't fit
        more += places.slice(MOST).length;
        for (const one of places.slice(0, MOST)) {
          found.set(`${user.path} ${one}`, { path: user.path, place: one });
        }
      }
    }
  }
  found.delete(`${entry.path} ${place}`); // under another name, where a dropout keeps everything
  return { using: [...found.values()], more };
}

// The layers that can mention a path, each with the name that it has there.
function layers(trace, path) {
  const words = path.split(".");
  return words
    .map((_, cut) => [words.slice(0, cut).join("."), words.slice(cut).join(".")])
    .filter(([scope]) => trace.scopes.has(scope));
}

// Whether a name is on the right of a formula, or of one of its abbreviations, and all that the
// formula needs is there.
function mentions(scope, formula, name) {
  const found = new Set();
  try {
    scope.find(formula.body, found);
  } catch {
    return false;
  }
  return found.has(name);
}

// The places of a formula's value at which it mentions the entry of `name` at `place`; null stands
// for every place along that axis. Where a condition hides the entry, that isn't one of them.
async function usersIn(scope, formula, name, place) {
  const frame = writtenOut(scope, formula);
  const found = new Map();
  for (const { use, conditions } of uses(frame, frame.formula.body, name, [])) {
    for (const one of await ofUse(frame, use, conditions, place)) {
      found.set(String(one), one);
    }
  }
  const wide = gathered(frame.shape, [...found.values()]);
  const kept = wide.filter((one) => !wide.some((other) => other !== one && holds(other, one)));
  return kept.sort(inOrder);
}

// The same places, those that fill an axis as one.
function gathered(shape, places) {
  let now = places;
  for (const [axis, size] of shape.entries()) {
    const row = (place) => place.with(axis, null);
    const seen = new Map();
    for (const place of now) {
      const key = String(row(place));
      seen.set(key, (seen.get(key) ?? new Set()).add(place[axis]));
    }
    const isFull = (place) => {
      const found = seen.get(String(row(place)));
      return found.has(null) || (found.size === size && size > 1);
    };
    const whole = new Map(now.filter(isFull).map((place) => [String(row(place)), row(place)]));
    now = [...whole.values(), ...now.filter((place) => !isFull(place))];
  }
  return now;
}

// All places of an axis stand before its first one.
function inOrder(one, other) {
  const axis = one.findIndex((place, at) => place !== other[at]);
  return axis < 0 ? 0 : (one[axis] ?? -1) - (other[axis] ?? -1);
}

// Every mention of a name, with the conditions under which it counts.
function* uses(frame, node, name, conditions) {
  const bare = node[0] === "scalar" && frame.owner.isBare(name); // the width d_k, not the gradient
  if (["entry", "scalar"].includes(node[0]) && node[1] === name && !bare) {
    yield { use: node, conditions };
  }
  if (node[0] === "call" && node[1] === "where") {
    const [condition, yes, no] = node[2];
    yield* uses(frame, condition, name, conditions);
    yield* uses(frame, yes, name, [...conditions, condition]);
    yield* uses(frame, no, name, [...conditions, ["op", "==", condition, ["number", 0]]]);
    return;
  }
  for (const part of parts(node)) {
    yield* uses(frame, part, name, conditions);
  }
}

// The places on the left at which this mention is the entry at `place`.
async function ofUse(frame, [, , indices = []], conditions, place) {
  const at = new Map();
  const needed = [...conditions];
  for (const [axis, index] of indices.entries()) {
    if (index[0] !== "index") {
      needed.push(["op", "==", index, ["number", place[axis]]]);
    } else if ((at.get(index[1]) ?? place[axis]) !== place[axis]) {
      return []; // twice the same letter, at two places
    } else {
      at.set(index[1], place[axis]);
    }
  }
  await frame.owner.read(...needed);
  const tried = solutions(frame, needed, at);
  return tried.map((more) =>
    frame.formula.axes.map((letter) => at.get(letter) ?? more.get(letter) ?? null),
  );
}

// Every way of placing the letters that are still free for which all conditions hold.
function solutions(frame, needed, at) {
  const inThem = new Set();
  for (const condition of needed) {
    for (const [kind, letter] of walk(condition)) {
      if (kind === "index" && !at.has(letter)) {
        inThem.add(letter);
      }
    }
  }
  const letters = [...frame.sizes.keys()].filter((letter) => inThem.has(letter));
  const tries = letters.reduce((product, letter) => product * frame.sizes.get(letter), 1);
  if (needed.length === 0 || tries > MOST_TRIED) {
    return [new Map()];
  }
  frame.stand([...at.keys()], [...at.values()]);
  const kept = letters.filter((letter) => frame.formula.axes.includes(letter));
  const tests = needed.map((condition) => frame.work(condition));
  const found = new Map();
  frame.visit(letters, () => {
    if (tests.every((test) => test())) {
      const where = frame.standing(kept);
      found.set(String(where), new Map(kept.map((letter, axis) => [letter, where[axis]])));
    }
  });
  return [...found.values()];
}

// Whether the first stands for the second and for more.
function holds(one, other) {
  return one.every((place, axis) => place === null || place === other[axis]);
}
