// From numbers to places on a picture's side, and the numbers that are written there.

// A linear or logarithmic scale over the numbers of `xs` (those that are finite; above 0 for a logarithm).
// place(x) is in 0 .. 1; ticks are at most about `most` numbers, rising.
export function makeScale(xs, { logarithmic = false, most = 5, pad = 0, from = null } = {}) {
  const good = xs.filter((x) => Number.isFinite(x) && (!logarithmic || x > 0));
  const [low, high] = good.length ? good.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]) : [0, 1];
  return logarithmic ? logarithm(good.length ? low : 0.1, good.length ? high : 1, most, pad) : linear(from ?? low, high, most, pad);
}

function linear(low, high, most, pad) {
  const spread = high > low ? high - low : Math.abs(high) || 1;
  const [bottom, top] = high > low ? [low - pad * spread, high + pad * spread] : [low - spread / 2, high + spread / 2];
  const step = niceStep((top - bottom) / most);
  const ticks = [];
  for (let at = Math.ceil(bottom / step - 1e-9); at * step <= top + 1e-9 * step; at += 1) {
    ticks.push(Number((at * step).toPrecision(12)));
  }
  return { place: (x) => (x - bottom) / (top - bottom), ticks, shows: Number.isFinite };
}

function logarithm(low, high, most, pad) {
  const spread = Math.log10(high / low) || 1;
  const middle = Math.log10(low) + Math.log10(high / low) / 2;
  const [bottom, top] = [middle - spread * (0.5 + pad), middle + spread * (0.5 + pad)];
  return {
    place: (x) => (Math.log10(x) - bottom) / (top - bottom),
    ticks: logarithmicTicks(bottom, top, most),
    shows: (x) => Number.isFinite(x) && x > 0,
  };
}

// Whole powers of ten, every few of them where there are many, those between them where there are few.
function logarithmicTicks(bottom, top, most) {
  const decades = [];
  for (let power = Math.floor(bottom); power <= Math.ceil(top); power += 1) {
    decades.push(power);
  }
  const every = Math.max(1, Math.ceil((top - bottom) / most));
  const shown = (parts, stride) =>
    decades
      .filter((power) => power % stride === 0)
      .flatMap((power) => parts.map((part) => Number(`${part}e${power}`)))
      .filter((x) => Math.log10(x) >= bottom - 1e-9 && Math.log10(x) <= top + 1e-9);
  const choices = [shown([1], every), shown([1, 3], 1), shown([1, 2, 5], 1), shown([1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], 1)];
  const enough = choices.find((ticks) => ticks.length >= 3) ?? [];
  if (enough.length >= 3) {
    return enough;
  }
  const inside = linear(10 ** bottom, 10 ** top, most, 0).ticks;
  return inside.filter((x) => x > 0);
}

function niceStep(rough) {
  const size = 10 ** Math.floor(Math.log10(rough));
  return size * [1, 2, 5, 10].find((part) => part * size >= rough * (1 - 1e-9));
}

// The place in a rising list whose number is nearest to x; -1 in an empty one.
export function nearest(xs, x) {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    [low, high] = xs[middle] <= x ? [middle, high] : [low, middle];
  }
  return xs.length && x - xs[low] > xs[high] - x ? high : xs.length ? low : -1;
}
