// What many numbers are like: mean, norm, extremes, how many are zero or no number; and how they spread.
// Tables of millions are gone through in pieces, so that the page stays awake.

const PIECE = 4e6;
const BINS = 64;
const [MANY, SAMPLE, WITHIN, FAR] = [2048, 60000, 0.997, 3];

const breath = () => new Promise((done) => setTimeout(done));

// {count, finite, mean, norm, min, max, zeros, hidden, infinite, nan} of all entries; -inf counts as hidden.
export async function statistics(data, signal) {
  const found = { count: data.length, finite: 0, zeros: 0, hidden: 0, infinite: 0, nan: 0 };
  let [sum, squares, min, max] = [0, 0, Infinity, -Infinity];
  for (let from = 0; from < data.length; from += PIECE) {
    const to = Math.min(data.length, from + PIECE);
    let [part, square] = [0, 0];
    for (let at = from; at < to; at += 1) {
      const x = data[at];
      if (x - x === 0) {
        part += x;
        square += x * x;
        min = x < min ? x : min;
        max = x > max ? x : max;
        found.zeros += x === 0 ? 1 : 0;
      } else if (x === -Infinity) {
        found.hidden += 1;
      } else if (x === Infinity) {
        found.infinite += 1;
      } else {
        found.nan += 1;
      }
    }
    sum += part;
    squares += square;
    if (to < data.length) {
      await breath();
      signal?.throwIfAborted();
    }
  }
  found.finite = found.count - found.hidden - found.infinite - found.nan;
  const any = found.finite > 0;
  return {
    ...found,
    mean: any ? sum / found.finite : NaN,
    norm: Math.sqrt(squares),
    min: any ? min : NaN,
    max: any ? max : NaN,
  };
}

// The magnitude up to which colours reach at first: the largest, unless it is so far out that all the others would look
// like zero. Then it is one that a few of a thousand exceed, as a sample of the entries has it.
export function typical(data, { min, max, count }) {
  const full = Math.max(Math.abs(min), Math.abs(max)) || 1;
  if (count < MANY) {
    return full;
  }
  // A step without small factors doesn't meet the same column of a table again and again.
  const step = Math.max(1, Math.floor(count / SAMPLE)) | 1;
  const sample = [];
  for (let at = 0; at < count; at += step) {
    const size = Math.abs(data[at]);
    if (size > 0 && size < Infinity) {
      sample.push(size);
    }
  }
  if (sample.length < MANY / 4) {
    return full;
  }
  const sorted = Float64Array.from(sample).sort();
  const far = sorted[Math.floor(sorted.length * WITHIN)];
  return full > FAR * far ? Number(far.toPrecision(2)) : full;
}

// How many entries fall into each of equal parts of [min, max]: {low, high, counts}.
export async function spread(data, { min, max, finite }, signal) {
  if (!finite) {
    return { low: 0, high: 1, counts: new Float64Array(BINS) };
  }
  const [low, high] = min === max ? [min - 0.5, max + 0.5] : [min, max];
  const counts = new Float64Array(BINS);
  const scale = BINS / (high - low);
  for (let from = 0; from < data.length; from += PIECE) {
    const to = Math.min(data.length, from + PIECE);
    for (let at = from; at < to; at += 1) {
      const x = data[at];
      if (x - x === 0) {
        counts[Math.min(BINS - 1, Math.floor((x - low) * scale))] += 1;
      }
    }
    if (to < data.length) {
      await breath();
      signal?.throwIfAborted();
    }
  }
  return { low, high, counts };
}
