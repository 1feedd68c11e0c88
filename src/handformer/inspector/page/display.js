// Where a formula in two dimensions needs parentheses. How things look is up to a notation.
//
// Fractions, roots and the brackets of a rounded quotient hold their parts together; a sum sign
// reaches to the right as far as a product does, and `where` to its very end.

import { real } from "./nodes.js";
import { short, whole } from "./number.js";

const NOTHING = 0;
const OR = 1;
const AND = 2;
const COMPARISON = 3;
const REMAINDER = 4;
const SUM = 5;
const PRODUCT = 6;
const POWER = 7;
const ATOM = 8;
const BINDING = {
  or: OR, and: AND, "%": REMAINDER, "+": SUM, "-": SUM, "*": PRODUCT, "**": POWER, "/": ATOM,
  "//": ATOM,
};
const POWER_OF_TEN = /^(-?[\d.]+)e([+-]?\d+)$/;

export class Display {
  // `notation`: see math.js; `digits`: the significant digits of numbers, all of them where null.
  constructor(notation, digits) {
    this.notation = notation;
    this.digits = digits;
  }

  write(node) {
    const { notation } = this;
    switch (node[0]) {
      case "number":
        return this.number(node[1]);
      case "index":
      case "scalar":
        return notation.name(node[1], true, null);
      case "entry":
        return notation.name(node[1], false, node[2].map((part) => this.write(part)), node);
      case "negative":
        return notation.negative(this.part(node[1], PRODUCT));
      case "op":
        return this.operation(node);
      case "call":
        return this.call(node);
      case "reduction":
        return this.reduction(node);
      case "list":
        return this.list(node);
      case "rest":
        return notation.rest(node[1], this.number(node[2]));
      default:
        throw new Error(`a tree can't hold ${node[0]}`);
    }
  }

  text(value) {
    return this.digits === null ? whole(value) : short(value, this.digits);
  }

  number(value) {
    const { notation } = this;
    const text = this.text(value);
    const powers = POWER_OF_TEN.exec(text);
    if (powers) {
      return notation.number(powers[1], Number(powers[2]), value);
    }
    const word = text.replace(/^-/, "");
    if (!/^[a-z]+$/.test(word)) {
      return notation.number(text, null, value);
    }
    const inside = notation.name(word, true, null); // infinity, a truth value
    return word === text ? inside : notation.negative(inside);
  }

  operation([, operator, left, right]) {
    const { notation } = this;
    switch (operator) {
      case "/":
        return notation.fraction(this.write(left), this.write(right));
      case "//":
        return notation.floor(this.left(left, PRODUCT), this.part(right, POWER));
      case "**":
        return notation.power(this.enclosed(left, this.isBase(left)), this.write(right));
      case "%":
        return notation.join("%", [this.left(left, PRODUCT), this.part(right, POWER)]);
      default:
    }
    const strength = BINDING[operator] ?? COMPARISON;
    if (strength === COMPARISON) {
      const second = this.enclosed(right, this.binding(right) > COMPARISON);
      return notation.join(operator, [this.left(left, REMAINDER), second]);
    }
    const sign = operator === "*" && beginsWithNumber(right) ? "." : operator;
    const least = strength + (operator === "-" ? 1 : 0); // a + (b - c) is a + b - c
    return notation.join(sign, [this.left(left, strength), this.part(right, least)]);
  }

  call([, name, given]) {
    const made = given.map((part) => this.write(part));
    if (name === "sqrt") {
      return this.notation.root(made[0]);
    }
    return name === "where" ? this.notation.cases(...made) : this.notation.call(name, made);
  }

  reduction([, kind, letters, body]) {
    const bare = kind === "sum" && isWhere(body);
    const within = kind === "sum" ? this.part(body, PRODUCT, bare) : null;
    const inside = within ?? this.notation.group(this.write(body));
    return this.notation.reduction(kind, letters, inside);
  }

  list([, kind, terms]) {
    if (kind !== "sum" || terms.length === 0) {
      return this.notation.call(kind, terms.map((term) => this.write(term)));
    }
    const [first, ...others] = terms;
    const rest = others.map((term) => this.part(term, SUM));
    return this.notation.join("+", [this.left(first, SUM), ...rest]);
  }

  // Behind an operator: a minus there needs parentheses, and so does what binds less.
  part(node, least, bare = false) {
    return this.enclosed(node, bare || (this.binding(node) >= least && !beginsWithMinus(node)));
  }

  // Before an operator: what reaches on to the right would swallow it.
  left(node, least) {
    return this.enclosed(node, this.binding(node) >= least && reach(node) > least);
  }

  isBase(node) {
    if (node[0] === "number") {
      return real(node[1]) >= 0 && this.binding(node) === ATOM;
    }
    return node[0] === "call" ? !isWhere(node) : ["index", "scalar", "entry"].includes(node[0]);
  }

  enclosed(node, alone) {
    return alone ? this.write(node) : this.notation.group(this.write(node));
  }

  binding(node) {
    switch (node[0]) {
      case "op":
        return BINDING[node[1]] ?? COMPARISON;
      case "number":
        return POWER_OF_TEN.test(this.text(node[1])) ? PRODUCT : ATOM;
      case "negative":
        return PRODUCT;
      case "reduction":
        return node[1] === "sum" ? PRODUCT : ATOM;
      case "list":
        return node[1] === "sum" ? SUM : ATOM;
      case "call":
        return isWhere(node) ? NOTHING : ATOM;
      default:
        return ATOM;
    }
  }
}

function isWhere(node) {
  return node[0] === "call" && node[1] === "where";
}

function beginsWithMinus(node) {
  switch (node[0]) {
    case "negative":
      return true;
    case "number":
      return real(node[1]) < 0;
    case "rest":
      return real(node[2]) < 0;
    case "op":
      return !["/", "//", "**"].includes(node[1]) && beginsWithMinus(node[2]);
    case "list":
      return node[1] === "sum" && node[2].length > 0 && beginsWithMinus(node[2][0]);
    default:
      return false;
  }
}

function beginsWithNumber(node) {
  const goesOn = node[0] === "op" && ["*", "/", "**"].includes(node[1]);
  return node[0] === "number" || (goesOn && beginsWithNumber(node[2]));
}

// How tightly a following operator must bind so that the right end of a node swallows it.
function reach(node) {
  if (isWhere(node)) {
    return NOTHING;
  }
  switch (node[0]) {
    case "reduction":
      return node[1] !== "sum" ? ATOM : isWhere(node[3]) ? NOTHING : PRODUCT;
    case "op":
      return ["*", "+", "-"].includes(node[1]) ? within(node[3]) : ATOM;
    case "negative":
      return within(node[1]);
    case "list":
      return node[1] === "sum" && node[2].length > 0 ? reach(node[2].at(-1)) : ATOM;
    default:
      return ATOM;
  }
}

// A `where` behind an operator stands in parentheses.
function within(node) {
  return isWhere(node) ? ATOM : reach(node);
}
