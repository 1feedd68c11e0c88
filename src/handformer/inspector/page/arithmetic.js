// What the operators, functions and constants of the formulas do with doubles.

export const CONSTANTS = { pi: Math.PI, inf: Infinity };

export const FUNCTIONS = {
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  tanh: Math.tanh,
  sin: Math.sin,
  cos: Math.cos,
  erf,
};

// Truth values count as 0 and 1, as they do in Python.
export const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  "**": (a, b) => (b === 2 ? a * a : a ** b),
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => Number(a) === Number(b),
  "!=": (a, b) => Number(a) !== Number(b),
  and: (a, b) => Boolean(a) && Boolean(b),
  or: (a, b) => Boolean(a) || Boolean(b),
};

// The sum, maximum or mean of numbers; of nothing, they are 0, minus infinity and NaN.
export function total(kind, numbers) {
  if (kind === "max") {
    let most = -Infinity;
    for (const x of numbers) {
      most = x > most || Number.isNaN(x) ? Number(x) : most;
    }
    return most;
  }
  const sum = pairwise(numbers, 0, numbers.length);
  return kind === "mean" ? sum / numbers.length : sum;
}

// Halves are summed on their own, so that rounding grows with the logarithm of the length. The
// order is that of NumPy: both sides show the same digits.
function pairwise(x, start, count) {
  if (count < 8) {
    let sum = 0;
    for (let at = start; at < start + count; at += 1) {
      sum += Number(x[at]);
    }
    return sum;
  }
  if (count > 128) {
    let half = count >> 1;
    half -= half % 8;
    return pairwise(x, start, half) + pairwise(x, start + half, count - half);
  }
  const part = [0, 1, 2, 3, 4, 5, 6, 7].map((lane) => Number(x[start + lane]));
  const even = count - (count % 8);
  for (let at = 8; at < even; at += 8) {
    for (let lane = 0; lane < 8; lane += 1) {
      part[lane] += Number(x[start + at + lane]);
    }
  }
  const [a, b, c, d, e, f, g, h] = part;
  let sum = a + b + (c + d) + (e + f + (g + h));
  for (let at = even; at < count; at += 1) {
    sum += Number(x[start + at]);
  }
  return sum;
}

const FAR = 1.25; // from here on the fraction takes fewer steps than the series

// The error function, to the last digits of a double. Near zero a series whose terms are all
// positive, so that nothing cancels: exp(-x^2) times the sum of 2^n x^(2n+1) / (1 3 5 ... (2n+1)).
// Farther out, one minus a continued fraction.
export function erf(x) {
  const size = Math.abs(x);
  if (Number.isNaN(size)) {
    return NaN;
  }
  const found = size < FAR ? series(size) : 1 - fraction(size);
  return x < 0 ? -found : found;
}

function series(x) {
  let term = x;
  let sum = x;
  for (let odd = 3; term > sum * 1e-17; odd += 2) {
    term *= (2 * x * x) / odd;
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

// 1 - erf(x) = exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + (2/2) / (x + (3/2) / (x + ...)))), from the
// inside to the outside.
function fraction(x) {
  let below = x;
  for (let step = 150; step > 0; step -= 1) {
    below = x + step / 2 / below;
  }
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / below;
}
