// Formula trees as MathML elements, which browsers show without a library.

import { Display } from "./display.js";
import { GREEK, shown } from "./names.js";
import { whole } from "./number.js";

const SPACE = "http://www.w3.org/1998/Math/MathML";
const OPERATORS = {
  ".": "⋅", "<=": "≤", ">=": "≥", "==": "=", "!=": "≠", "-": "−", and: "∧", or: "∨", "%": "mod",
};
const FUNCTION_APPLICATION = "\u2061";
const INVISIBLE_TIMES = "\u2062";
const NO_BREAK = "\u00a0";

// A <math> element of a tree.
//
//   digits    the significant digits of numbers, all of them where null
//   onEntry   (name, place) gives the address of an entry of an unrolled tree, or null
//   words     {more, if, otherwise}: the words that stand in formulas
//   block     on a line of its own
export function math(node, options = {}) {
  return wrapped([new Display(new Notation(options), options.digits ?? null).write(node)], options);
}

// One part = another (= another): each of [tree, options of its own].
export function equation(sides, options = {}) {
  const made = sides.map(([node, own]) => {
    const all = { ...options, ...own };
    return new Display(new Notation(all), all.digits ?? null).write(node);
  });
  const inside = made.flatMap((part, place) => (place === 0 ? [part] : [operator("="), part]));
  return wrapped(inside, options);
}

// A whole formula of a sheet, {name, axes, body}.
export function formulaMath(formula, options = {}) {
  return equation([[leftSide(formula)], [formula.body]], options);
}

// What stands on the left of a formula; at a place, where one is given.
export function leftSide({ name, axes }, place = null) {
  if (axes.length === 0) {
    return ["scalar", name];
  }
  return ["entry", name, place ? place.map((at) => ["number", at]) : axes.map((a) => ["index", a])];
}

function wrapped(inside, { block }) {
  return element("math", block ? { display: "block" } : {}, ...inside);
}

class Notation {
  constructor({ onEntry = null, words = {} }) {
    this.onEntry = onEntry;
    this.words = { more: "more", if: "if", otherwise: "otherwise", ...words };
  }

  // Decimal digits, times a power of ten if there is one; the whole number is its title.
  number(digits, exponent, value) {
    const title = whole(value);
    const mantissa = element("mn", title === digits ? {} : { title }, minus(digits));
    if (exponent === null) {
      return mantissa;
    }
    const power = element("msup", {}, element("mn", {}, "10"), element("mn", {}, minus(exponent)));
    return row(mantissa, operator("⋅"), power);
  }

  name(word, bare, places, entry = null) {
    const name = shown(word, bare);
    let base = letter(name.base);
    if (name.hat) {
      base = element("mover", { accent: "true" }, base, operator("^"));
    }
    const low = name.low ? [letter(name.low)] : [];
    if (places) {
      low.push(...(low.length > 0 && places.length > 0 ? [operator(";")] : []));
      low.push(...between(",", places));
    }
    if (low.length > 0) {
      base = element("msub", {}, base, row(...low));
    }
    const before = name.path ? [element("mtext", {}, name.path)] : [];
    if (name.gradient) {
      before.push(element("mi", { mathvariant: "normal" }, "d"));
      if (name.base.length > 1 && !(name.base in GREEK)) {
        before.push(element("mspace", { width: "0.17em" }));
      }
    }
    const made = before.length > 0 ? row(...before, base) : base;
    return entry ? this.linked(made, entry) : made;
  }

  // An entry whose place is known leads to that number.
  linked(inside, [, name, indices]) {
    const known = this.onEntry && indices.every(([kind]) => kind === "number");
    const address = known ? this.onEntry(name, indices.map(([, place]) => place)) : null;
    if (!address) {
      return inside;
    }
    const link = document.createElement("a");
    link.href = address;
    link.append(element("math", {}, inside));
    // Not mtext: to MathML that is mere space, and an operator beside it would lose its own.
    return element("mi", {}, link);
  }

  group(...inside) {
    return row(operator("("), ...inside, operator(")"));
  }

  negative(part) {
    return row(element("mo", { form: "prefix" }, "−"), part);
  }

  join(sign, inside) {
    return row(...between(sign, inside));
  }

  fraction(above, below) {
    return element("mfrac", {}, row(above), row(below));
  }

  floor(left, right) {
    return row(operator("⌊"), left, operator("/"), right, operator("⌋"));
  }

  power(base, exponent) {
    return element("msup", {}, row(base), row(exponent));
  }

  root(part) {
    return element("msqrt", {}, part);
  }

  cases(condition, yes, no) {
    const cell = (...inside) => element("mtd", { class: "case" }, ...inside);
    const first = element("mtr", {}, cell(yes), cell(this.word("if"), condition));
    const second = element("mtr", {}, cell(no), cell(this.word("otherwise")));
    return row(operator("{"), element("mtable", {}, first, second));
  }

  call(name, inside) {
    const given = this.group(...between(",", inside));
    return row(element("mi", {}, name), operator(FUNCTION_APPLICATION), given);
  }

  reduction(kind, letters, body) {
    const under = row(...between(",", letters.map((one) => element("mi", {}, one))));
    return row(element("munder", {}, operator(kind === "sum" ? "∑" : kind), under), body);
  }

  // What so many terms come to that aren't written out.
  rest(count, value) {
    const brace = element("munder", {}, row(value), operator("⏟"));
    const said = element("mtext", {}, `${count} ${this.words.more}${NO_BREAK}`);
    return element("munder", {}, brace, said);
  }

  word(key) {
    return element("mtext", {}, `${this.words[key]}${NO_BREAK}`);
  }
}

function element(tag, attributes, ...inside) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...inside);
  return made;
}

function row(...inside) {
  return element("mrow", {}, ...inside);
}

function operator(sign) {
  return element("mo", {}, sign);
}

// A product of names has no sign, only a space that browsers keep.
function between(sign, inside) {
  const make = () =>
    sign === "*"
      ? element("mo", { lspace: "0", rspace: "0.17em" }, INVISIBLE_TIMES)
      : operator(OPERATORS[sign] ?? sign);
  return inside.flatMap((part, place) => (place === 0 ? [part] : [make(), part]));
}

function letter(word) {
  if (/^\d+$/.test(word)) {
    return element("mn", {}, word);
  }
  return element("mi", {}, word === "inf" ? "∞" : (GREEK[word] ?? word));
}

function minus(digits) {
  return String(digits).replace("-", "−");
}
