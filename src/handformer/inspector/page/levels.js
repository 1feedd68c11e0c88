// A plane and its coarser copies: in each, four rows, or four columns, have become one. A cell of a copy
// holds the number of largest magnitude of those it stands for, so nothing large is averaged away.

import { HIDDEN } from "./colours.js";
import { read } from "./plane.js";

const STEP = 4;
const COPIED = 4e6; // cells of a plane that is copied, so that reading goes from neighbour to neighbour

// Of two numbers the one that stands out: NaN before all, then the larger magnitude, what is hidden last.
function stronger(a, b) {
  if (a !== a || b === HIDDEN) {
    return a;
  }
  if (b !== b || a === HIDDEN) {
    return b;
  }
  return Math.abs(a) >= Math.abs(b) ? a : b;
}

// Numbers as wide as those that are copied: a large double is no infinity.
function kind(data) {
  return data instanceof Float64Array ? Float64Array : Float32Array;
}

// Every four rows as one. What is finite and smaller, nearly all, is passed over quickly.
function joinRows({ data: from, start, rows, columns, rowStep, columnStep }) {
  const count = Math.ceil(rows / STEP);
  const data = new (kind(from))(count * columns);
  for (let row = 0; row < rows; row += 1) {
    let target = Math.floor(row / STEP) * columns;
    let place = start + row * rowStep;
    const fresh = row % STEP === 0;
    for (let column = 0; column < columns; column += 1, target += 1, place += columnStep) {
      const x = from[place];
      if (fresh) {
        data[target] = x;
        continue;
      }
      const held = data[target];
      const most = held < 0 ? -held : held;
      if ((x < 0 ? -x : x) > most || most === Infinity || x !== x) {
        data[target] = stronger(held, x);
      }
    }
  }
  return { data, start: 0, rows: count, columns, rowStep: columns, columnStep: 1 };
}

// The same plane with rows and columns exchanged.
function turned(plane) {
  const { rows, columns, rowStep, columnStep } = plane;
  return { ...plane, rows: columns, columns: rows, rowStep: columnStep, columnStep: rowStep };
}

function joinColumns(fine) {
  return turned(joinRows(turned(fine)));
}

// The plane as numbers side by side, with -inf where the mask hides.
function copy(plane, mask) {
  const { rows, columns } = plane;
  const data = new (kind(plane.data))(rows * columns);
  for (let row = 0, at = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1, at += 1) {
      data[at] = mask !== null && read(mask, row, column) === 0 ? HIDDEN : read(plane, row, column);
    }
  }
  return { data, start: 0, rows, columns, rowStep: columns, columnStep: 1 };
}

export class Levels {
  constructor(plane, mask = null) {
    const small = plane.rows * plane.columns <= COPIED;
    this.rows = plane.rows;
    this.columns = plane.columns;
    this.levels = new Map([["0,0", small || mask ? copy(plane, mask) : plane]]);
  }

  // The plane with every 4^down rows and 4^across columns taken together.
  level(down, across) {
    const key = `${down},${across}`;
    if (!this.levels.has(key)) {
      const made = down > 0 ? joinRows(this.level(down - 1, across)) : joinColumns(this.level(0, across - 1));
      this.levels.set(key, made);
    }
    return this.levels.get(key);
  }

  // The coarsest copy whose cells are no larger than so many rows and columns, with their size.
  finest(rows, columns) {
    const power = (cells) => Math.floor(Math.log(cells) / Math.log(STEP) + 1e-9);
    const [down, across] = [power(rows), power(columns)];
    return { level: this.level(down, across), tall: STEP ** down, wide: STEP ** across };
  }
}
