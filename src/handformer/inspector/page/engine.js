// Where one number of a trace comes from, and where it goes: its formula, with the numbers put in.
//
// The same as Python's explanation, worked out here in doubles from the stored numbers that the
// formula mentions.

import { compute, numbered, unroll } from "./expand.js";
import { Frame } from "./frame.js";
import { join } from "./names.js";
import { plain, real } from "./nodes.js";
import { Parents } from "./parents.js";
import { rounding } from "./rounding.js";
import { Scope } from "./scope.js";
import { termsOf } from "./terms.js";
import { formulaText, text } from "./text.js";
import { users } from "./users.js";

// The explanation of the entry of the value at `path`, a plain object:
//
//   path, place, axes, tokens    where it stands; the spellings of the tokens there, by axis
//   formula, abbreviations       the formula as text, and those of the abbreviations in it
//   symbols, numbers             as trees: the formula at this place, and with numbers put in (null
//                                for what comes from outside, as the formula is)
//   value, stored, difference    what the formula comes to, what the trace holds, stored - value
//   rounding                     the most that rounding explains of the difference
//   terms, rest                  what it is the sum of, the greatest first: {text, value, share,
//                                parents, and its token where the sum runs over tokens}; {count,
//                                value} of all others, or null
//   parents                      {path, place, value} of the entries in the formula
//   users                        {path, place} of what needs it; null: every place of that axis.
//                                more_users: how many need it that aren't named, if there are any
//
// Numbers that aren't finite are the words "inf", "-inf", "nan".
export async function explain(trace, path, place, { terms = 8 } = {}) {
  const entry = trace.entry(path);
  check(trace, path, entry, place);
  const stored = await trace.number(entry.path, place);
  const { using, more } = await users(trace, entry, place);
  const told = {
    path: entry.path,
    place: [...place],
    axes: [...entry.axes],
    formula: null,
    abbreviations: [],
    symbols: null,
    numbers: null,
    value: plain(stored),
    stored: plain(stored),
    difference: 0,
    rounding: null,
    terms: [],
    rest: null,
    parents: [],
    users: using,
    tokens: spelled(trace, entry, place),
    ...(more > 0 ? { more_users: more } : {}),
  };
  const formula = trace.formula(path);
  return formula ? { ...told, ...(await inFormula(trace, told, formula, terms)) } : told;
}

async function inFormula(trace, { path, place, stored }, formula, most) {
  const entry = trace.entry(path);
  const scope = new Scope(trace, entry.scope);
  const { values, short } = scope.mentioned(formula);
  requireParents(trace, entry, values);
  await scope.read(formula.body);
  const frame = new Frame(scope, formula);
  frame.stand(formula.axes, place);
  const symbols = unroll(frame, formula.body, most);
  const numbers = numbered(scope, symbols);
  const value = Number(compute(numbers));
  const parents = new Parents(frame, most);
  const whole = parents.all(symbols);
  const bound = rounding(frame, entry.dtype);
  const { shown, count, rest } = termsOf(frame, most);
  return {
    formula: formulaText(formula),
    abbreviations: short.map(formulaText),
    symbols,
    numbers,
    value: plain(value),
    difference: plain(real(stored) === value ? 0 : real(stored) - value),
    rounding: plain(bound),
    terms: shown.map((term) => termTold(parents, term)),
    rest: count > 0 ? { count, value: plain(rest) } : null,
    parents: whole.map((parent) => ({ ...parent, value: plain(Number(parent.value)) })),
  };
}

function termTold(parents, term) {
  const token = parents.token(term);
  return {
    text: text(term.node),
    value: plain(term.value),
    share: plain(term.share),
    parents: parents.of(term.node).map(({ path, place }) => [path, place]),
    ...(token === null ? {} : { token }),
  };
}

// The spellings of the tokens at a place, by axis.
function spelled(trace, { path, axes }, place) {
  const row = axes.includes("b") ? place[axes.indexOf("b")] : 0;
  const found = axes.map((letter, at) => [letter, trace.tokenText(letter, place[at], row, path)]);
  return Object.fromEntries(found.filter(([, word]) => word !== null));
}

function check(trace, path, entry, place) {
  if (!entry) {
    throw new Error(`there is no value ${path} in this trace`);
  }
  if (!trace.has(path)) {
    throw new Error(`${entry.path} isn't in this trace: it was written without it`);
  }
  const fits = place.every((at, axis) => Number.isInteger(at) && at >= 0 && at < entry.shape[axis]);
  if (!fits || place.length !== entry.shape.length) {
    throw new Error(`${path} has the shape [${entry.shape}]: there is no place [${place}]`);
  }
}

// Refuses where the trace was written without something that the formula needs.
function requireParents(trace, entry, names) {
  const parents = names.map((name) => trace.entry(join(entry.scope, name)));
  for (const parent of parents.filter((one) => one !== undefined)) {
    const why = `${entry.path} can't be explained`;
    if (parent.kept === false) {
      throw new Error(`${why}: it needs ${parent.path}, and the trace was written without it`);
    }
    const cut = trace.manifest.positions && parent.axes.includes("t");
    if (cut && !(parent.source ?? []).includes("t")) {
      throw new Error(`${why}: the trace holds only some positions of ${parent.path}`);
    }
  }
}
