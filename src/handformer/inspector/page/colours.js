// Numbers to colours. Zero is always the colour of the paper: blue below, orange above, and their lightness says how far.
// Blue and orange stay apart for every common kind of colour blindness; hidden places are hatched, NaN is striped.

// What stands at a hidden place.
export const HIDDEN = -Infinity;

const STEPS = 256;

// From the paper outwards. The three of a side fall (or rise) evenly in lightness.
const SIDES = {
  light: {
    paper: "#fbfbf9",
    below: ["#a9cbea", "#3f83c4", "#0b3a73"],
    above: ["#fbc890", "#d9731a", "#7a2e00"],
    alone: ["#a8d8cf", "#2b8f8c", "#063b4f"],
    nan: "#a3159a",
    hatch: ["#f1f1ee", "#b4b4ae"],
  },
  dark: {
    paper: "#15181c",
    below: ["#1f466f", "#3f8fd6", "#b5dcff"],
    above: ["#6b3a0c", "#d98226", "#ffdcae"],
    alone: ["#10474a", "#2fa398", "#d2fbe6"],
    nan: "#ff6bf0",
    hatch: ["#1c2026", "#545b64"],
  },
};

// Is the page dark? Asked of what it looks like, so that no switch has to be known here.
function isDark(element = document.documentElement) {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "dark" || chosen === "light") {
    return chosen === "dark";
  }
  return element.ownerDocument.defaultView.matchMedia("(prefers-color-scheme: dark)").matches;
}

const numbers = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
const gamma = (x) => (x <= 0.0031308 ? x * 12.92 : 1.055 * x ** (1 / 2.4) - 0.055);

// Cube roots of the eyes' three answers: between two colours they mix without a muddy middle (Ottosson 2020, Oklab).
function toEye([r, g, b]) {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [l, m, s];
}

function fromEye(lms) {
  const [l, m, s] = lms.map((x) => x ** 3);
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

// One pixel of an ImageData, seen as a number (little-endian: alpha, blue, green, red).
const pack = (rgb) =>
  rgb.reduce((all, x, at) => all + Math.round(255 * Math.min(1, Math.max(0, x))) * 2 ** (8 * at), 255 * 2 ** 24);

function ramp(colours) {
  const stops = colours.map((hex) => toEye(numbers(hex).map(linear)));
  return Uint32Array.from({ length: STEPS }, (_, step) => {
    const at = (step / (STEPS - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const mixed = stops[low].map((x, channel) => x + (at - low) * (stops[low + 1][channel] - x));
    return pack(fromEye(mixed).map(gamma));
  });
}

const kept = new Map();

function tables(dark) {
  const key = dark ? "dark" : "light";
  if (!kept.has(key)) {
    const side = SIDES[key];
    const [paper, ink] = side.hatch.map((hex) => pack(numbers(hex)));
    kept.set(key, {
      below: ramp([side.paper, ...side.below]),
      above: ramp([side.paper, ...side.above]),
      alone: ramp([side.paper, ...side.alone]),
      nan: pack(numbers(side.nan)),
      hatch: { paper, ink },
    });
  }
  return kept.get(key);
}

// A scale of colours. kind "diverging": -limit .. 0 .. limit; "sequential": 0 .. limit, for what is never negative.
// What lies beyond the limit has the outermost colour.
export function makeScale(kind, limit, dark = isDark()) {
  return { kind, limit: limit > 0 ? limit : 1, dark, ...tables(dark) };
}

// The colour of a number, as one pixel.
export function colourOf(scale, x) {
  if (x !== x) {
    return scale.nan;
  }
  const part = Math.min(1, Math.abs(x) / scale.limit);
  const side = x < 0 ? scale.below : scale.kind === "sequential" ? scale.alone : scale.above;
  return side[Math.round(part * (STEPS - 1))];
}

// A pixel as CSS says it.
export function css(pixel) {
  return `rgb(${pixel & 255} ${(pixel >>> 8) & 255} ${(pixel >>> 16) & 255})`;
}

// Black or white, whichever is read more easily on this pixel.
export function inkOn(pixel) {
  const [r, g, b] = [pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255].map((x) => linear(x / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#101214" : "#ffffff";
}

// The look of a hidden place, as CSS says it.
export function hatchCss(scale) {
  const [paper, ink] = [css(scale.hatch.paper), css(scale.hatch.ink)];
  return `repeating-linear-gradient(135deg, ${ink} 0 1.4px, ${paper} 1.4px 5px)`;
}
