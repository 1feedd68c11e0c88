// From numbers to pixels, a tile at a time. A point of a tile is one cell, or, zoomed out, the strongest of
// a square of cells; tiles are kept, so that moving and zooming mostly draws what is there.

import { HIDDEN, colourOf } from "./colours.js";
import { Levels } from "./levels.js";

const SIDE = 256; // points
const MOST = 160; // tiles that are kept

// The strongest number of each square of `tall` times `wide` cells from a corner on, as an image of so many
// points. It is clear where all that a point stands for is hidden.
export function paint(levels, { top, left, tall, wide }, width, height, scale) {
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const { level, tall: high, wide: broad } = levels.finest(tall, wide);
  const { data, start, rowStep, columnStep } = level;
  const [rows, columns] = [tall / high, wide / broad]; // of the copy, for each point
  for (let y = 0, pixel = 0; y < height; y += 1) {
    const firstRow = top / high + y * rows;
    const lastRow = Math.min(level.rows, firstRow + rows);
    for (let x = 0; x < width; x += 1, pixel += 1) {
      const firstColumn = left / broad + x * columns;
      const lastColumn = Math.min(level.columns, firstColumn + columns);
      let best = HIDDEN;
      let most = -1;
      for (let row = firstRow; row < lastRow; row += 1) {
        for (let column = firstColumn; column < lastColumn; column += 1) {
          const found = data[start + row * rowStep + column * columnStep];
          const far = found < 0 ? -found : found;
          if (far > most) {
            if (found !== HIDDEN) {
              best = found;
              most = far;
            }
          } else if (found !== found) {
            best = found;
            most = Infinity;
          }
        }
      }
      if (most >= 0 || best !== best) {
        pixels[pixel] = colourOf(scale, best);
      }
    }
  }
  return image;
}

export class Tiles {
  constructor(plane, mask = null) {
    this.levels = new Levels(plane, mask);
    this.kept = new Map(); // its order is that of the last use
    this.look = null;
  }

  // Draws what `zoom` shows, with its upper left corner at (x, y). Edges fall on the screen's points, so that
  // no gap stays between neighbours.
  draw(context, zoom, x, y, scale, density) {
    const power = (pixels) => 2 ** Math.max(0, Math.ceil(-Math.log2(pixels * density) - 1e-9));
    const [tall, wide] = [power(zoom.down), power(zoom.across)];
    const snap = (at) => Math.round(at * density) / density;
    const toX = (column) => snap(x + (column - zoom.left) * zoom.across);
    const toY = (row) => snap(y + (row - zoom.top) * zoom.down);
    const { bottom, right } = zoom.edges();
    this.recolour(scale);
    for (let r = Math.floor(zoom.top / (SIDE * tall)); r * SIDE * tall < bottom; r += 1) {
      for (let c = Math.floor(zoom.left / (SIDE * wide)); c * SIDE * wide < right; c += 1) {
        const tile = this.tile(r, c, tall, wide, scale);
        if (tile) {
          // Of a tile only the points that are seen: enlarged it may be many screens wide.
          const [sx, dx] = part(zoom.left, right, c * SIDE, wide, tile.width);
          const [sy, dy] = part(zoom.top, bottom, r * SIDE, tall, tile.height);
          const [left, top] = [toX((c * SIDE + sx) * wide), toY((r * SIDE + sy) * tall)];
          const width = toX((c * SIDE + sx + dx) * wide) - left;
          const height = toY((r * SIDE + sy + dy) * tall) - top;
          context.drawImage(tile, sx, sy, dx, dy, left, top, width, height);
        }
      }
    }
  }

  recolour(scale) {
    const look = `${scale.kind} ${scale.limit} ${scale.dark}`;
    if (look !== this.look) {
      this.kept.clear();
      this.look = look;
    }
  }

  // The picture of one tile; null outside of the plane.
  tile(r, c, tall, wide, scale) {
    const key = `${tall} ${wide} ${r} ${c}`;
    let made = this.kept.get(key);
    if (made === undefined) {
      const corner = { top: r * SIDE * tall, left: c * SIDE * wide, tall, wide };
      const width = Math.min(SIDE, Math.ceil((this.levels.columns - corner.left) / wide));
      const height = Math.min(SIDE, Math.ceil((this.levels.rows - corner.top) / tall));
      if (width <= 0 || height <= 0) {
        return null;
      }
      made = new OffscreenCanvas(width, height);
      made.getContext("2d").putImageData(paint(this.levels, corner, width, height, scale), 0, 0);
    }
    this.kept.delete(key);
    this.kept.set(key, made);
    if (this.kept.size > MOST) {
      this.kept.delete(this.kept.keys().next().value);
    }
    return made;
  }
}

// The points of a tile that lie between two edges, along one axis: [first, how many].
function part(from, to, start, size, count) {
  const first = Math.max(0, Math.floor(from / size) - start);
  const after = Math.min(count, Math.ceil(to / size) - start);
  return [first, Math.max(1, after - first)];
}
