// Numbers as texts: short to look at, whole to copy. They look as Python's do.

const DIGITS = 4;
const LONG = 1e6; // from here on whole numbers are shortened too

// To four significant digits (or so many): 0.7071, 12, 1.2e-05.
export function short(x, digits = DIGITS) {
  const found = odd(x);
  if (found !== null) {
    return found;
  }
  if (Number.isInteger(x) && Math.abs(x) < LONG) {
    return Object.is(x, -0) ? "0" : String(x);
  }
  return general(x.toExponential(digits - 1), digits);
}

// All digits that the double needs: reading the text gives the same number again. A number of
// float32 is shown as the double that it becomes.
export function whole(x) {
  const found = odd(x);
  if (found !== null) {
    return found;
  }
  return Object.is(x, -0) ? "-0" : general(x.toExponential(), 16);
}

// A part of one in percent: 44 %, 0.31 %.
export function percent(x) {
  const found = odd(x);
  return `${found ?? short(x * 100, Math.abs(x) >= 0.1 ? 3 : 2)} %`;
}

// What has no digits: truth values, words, and what isn't finite.
function odd(x) {
  if (typeof x === "boolean" || typeof x === "string") {
    return String(x);
  }
  if (Number.isFinite(x)) {
    return null;
  }
  return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

// From d.ddde+x: a power of ten only for what is small, or has more places than `places`; no zeros
// at the end.
function general(scientific, places) {
  const [mantissa, power] = scientific.split("e");
  const exponent = Number(power);
  const minus = mantissa.startsWith("-") ? "-" : "";
  const digits = mantissa.replace(/[-.]/g, "").replace(/(.)0+$/, "$1");
  if (exponent < -4 || exponent >= places) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    const point = digits.length > 1 ? "." : "";
    return `${minus}${digits[0]}${point}${digits.slice(1)}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) {
    return `${minus}0.${"0".repeat(-exponent - 1)}${digits}`;
  }
  const before = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const behind = digits.slice(exponent + 1);
  return minus + (behind ? `${before}.${behind}` : before);
}
