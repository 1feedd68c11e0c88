// Which part of a map is seen, and how large: pixels a row, pixels a column, and the cell at the upper left.

const WIDEST = 96; // pixels of a cell, zoomed in as far as it goes
const COMFORTABLE = 64; // pixels of a cell that needn't be smaller: four digits fit in
const STRIP = 40; // rows of a map with few of them may be so tall,
const LOWEST = 260; // until the map is so tall

export class Zoom {
  constructor(rows, columns) {
    this.rows = rows;
    this.columns = columns;
    this.whole = true;
    this.left = 0;
    this.top = 0;
    this.resize(300, 300);
  }

  // Fits into so many pixels; a window that was zoomed in keeps its upper left cell.
  resize(width, tallest) {
    this.leastAcross = Math.min(COMFORTABLE, width / this.columns);
    const strip = Math.min(STRIP, LOWEST / this.rows, tallest / this.rows);
    this.leastDown = Math.max(strip, Math.min(this.leastAcross, tallest / this.rows));
    this.width = Math.min(width, this.columns * this.leastAcross);
    this.height = Math.min(tallest, this.rows * this.leastDown);
    if (this.whole) {
      this.across = this.leastAcross;
      this.down = this.leastDown;
    }
    this.keepInside();
  }

  // Larger (or smaller) around a point of the frame. The more compressed axis grows first, so that cells
  // end up square whatever the shape of the array.
  by(factor, x = this.width / 2, y = this.height / 2) {
    const column = this.left + x / this.across;
    const row = this.top + y / this.down;
    if (factor > 1) {
      const level = Math.max(this.across, this.down);
      const size = Math.min(this.across, this.down) * factor;
      const grown = size < level ? size : Math.max(level, Math.min(size, level * factor));
      const alike = Math.max(this.across, this.down) / Math.min(this.across, this.down) < 1.02;
      const next = (own) => Math.min(WIDEST, alike ? own * factor : Math.max(own, grown));
      [this.across, this.down] = [next(this.across), next(this.down)];
    } else {
      this.across = Math.max(this.leastAcross, this.across * factor);
      this.down = Math.max(this.leastDown, this.down * factor);
    }
    this.left = column - x / this.across;
    this.top = row - y / this.down;
    this.settle();
  }

  // Everything again.
  fit() {
    this.across = this.leastAcross;
    this.down = this.leastDown;
    this.settle();
  }

  pan(dx, dy) {
    this.left -= dx / this.across;
    this.top -= dy / this.down;
    this.keepInside();
  }

  // Moves just so far that a cell is seen.
  reveal(row, column) {
    const into = (first, seen, place) => Math.min(Math.max(first, place + 1 - seen), place);
    this.left = into(this.left, this.width / this.across, column);
    this.top = into(this.top, this.height / this.down, row);
    this.keepInside();
  }

  // What lies between these edges, which are counted in cells.
  show({ top, left, bottom, right }) {
    const across = this.width / Math.max(1, right - left);
    const down = this.height / Math.max(1, bottom - top);
    this.across = Math.min(WIDEST, Math.max(this.leastAcross, across));
    this.down = Math.min(WIDEST, Math.max(this.leastDown, down));
    this.left = left;
    this.top = top;
    this.settle();
  }

  // The edges of what is seen, counted in cells.
  edges() {
    return {
      top: this.top,
      left: this.left,
      bottom: this.top + this.height / this.down,
      right: this.left + this.width / this.across,
    };
  }

  // The cells that are seen, at least in part.
  seen() {
    const after = (first, size, count) => Math.min(count - 1, Math.ceil(first + size - 1e-6) - 1);
    return {
      top: Math.floor(this.top + 1e-6),
      left: Math.floor(this.left + 1e-6),
      bottom: after(this.top, this.height / this.down, this.rows),
      right: after(this.left, this.width / this.across, this.columns),
    };
  }

  // The cell under a point of the frame, or null beside it.
  cell(x, y) {
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) {
      return null;
    }
    const row = Math.min(this.rows - 1, Math.floor(this.top + y / this.down));
    const column = Math.min(this.columns - 1, Math.floor(this.left + x / this.across));
    return [row, column];
  }

  settle() {
    this.whole = this.across <= this.leastAcross * 1.001 && this.down <= this.leastDown * 1.001;
    this.keepInside();
  }

  keepInside() {
    const most = (count, pixels, size) => Math.max(0, count - pixels / size);
    this.left = Math.min(Math.max(0, this.left), most(this.columns, this.width, this.across));
    this.top = Math.min(Math.max(0, this.top), most(this.rows, this.height, this.down));
  }
}

// "3-40.5,0-63": the edges of what is seen, rows and then columns, for the address.
export function windowText({ top, left, bottom, right }) {
  const [a, b, c, d] = [top, bottom, left, right].map((edge) => Number(edge.toFixed(2)));
  return `${a}-${b},${c}-${d}`;
}

// The edges in such a text, or null.
export function parseWindow(text) {
  const found = /^([\d.]+)-([\d.]+),([\d.]+)-([\d.]+)$/.exec(text ?? "");
  if (!found) {
    return null;
  }
  const [top, bottom, left, right] = found.slice(1).map(Number);
  return [top, left, bottom, right].every(Number.isFinite) ? { top, left, bottom, right } : null;
}
