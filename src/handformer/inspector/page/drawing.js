// What a map looks like at its present window: cells, hatching over what is hidden, numbers where they fit.

import { HIDDEN, colourOf, css, inkOn } from "./colours.js";
import { short } from "./number.js";
import { read } from "./plane.js";

const LETTER = 6.7; // pixels of a letter in the font of the numbers
const NUMBERS = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

// Draws the plane with its upper left corner at (x, y). map: {plane, tiles, mask, scale}.
export function drawCells(context, map, zoom, x, y, density) {
  context.save();
  context.beginPath();
  context.rect(x, y, zoom.width, zoom.height);
  context.clip();
  context.fillStyle = context.createPattern(hatching(map.scale), "repeat");
  context.fillRect(x, y, zoom.width, zoom.height); // seen through the picture where something is hidden
  context.imageSmoothingEnabled = false;
  map.tiles.draw(context, zoom, x, y, map.scale, density);
  write(context, map, zoom, x, y);
  context.restore();
}

// Whether a place is hidden: by the mask, or because -inf stands there.
export function isHidden(map, row, column) {
  return (
    (map.mask !== null && read(map.mask, row, column) === 0) || read(map.plane, row, column) === HIDDEN
  );
}

const patterns = new Map();

// A small square with a slanting line, that joins up with itself.
function hatching(scale) {
  if (!patterns.has(scale.dark)) {
    const square = new OffscreenCanvas(8, 8);
    const context = square.getContext("2d");
    context.fillStyle = css(scale.hatch.paper);
    context.fillRect(0, 0, 8, 8);
    context.strokeStyle = css(scale.hatch.ink);
    context.lineWidth = 1.4;
    for (const shift of [-8, 0, 8]) {
      context.moveTo(shift - 1, 9);
      context.lineTo(shift + 9, -1);
    }
    context.stroke();
    patterns.set(scale.dark, square);
  }
  return patterns.get(scale.dark);
}

// The number with as many of four digits as fit; null where not even one does.
function fitting(x, letters) {
  for (const digits of [4, 3, 2, 1]) {
    const text = short(x, digits);
    if (text.length <= letters) {
      return text;
    }
  }
  const text = Number.isFinite(x) ? x.toExponential(0).replace("e+", "e") : String(x);
  return text.length <= letters ? text : null;
}

// Numbers in the cells where they fit; in smaller ones a dash for what is below zero, so that the
// sign isn't said by colour alone; a cross for what is no number.
function write(context, map, zoom, x, y) {
  const { top, left, bottom, right } = zoom.seen();
  const numbers = zoom.across >= 36 && zoom.down >= 14;
  if (!numbers && (zoom.across < 10 || zoom.down < 8)) {
    return;
  }
  context.font = NUMBERS;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const letters = Math.floor((zoom.across - 6) / LETTER);
  for (let row = top; row <= bottom; row += 1) {
    for (let column = left; column <= right; column += 1) {
      const number = read(map.plane, row, column);
      const middle = x + (column + 0.5 - zoom.left) * zoom.across;
      const height = y + (row + 0.5 - zoom.top) * zoom.down;
      const hidden = isHidden(map, row, column);
      const pixel = hidden ? map.scale.hatch.paper : colourOf(map.scale, number);
      context.fillStyle = inkOn(pixel);
      if (numbers) {
        const text = fitting(number, letters);
        if (text !== null) {
          if (hidden) {
            backing(context, text, middle, height, pixel);
          }
          context.fillText(text, middle, height);
        }
      } else if (!Number.isFinite(number) && !hidden) {
        context.fillText(Number.isNaN(number) ? "\u00d7" : "\u221e", middle, height);
      } else if (number < 0 && !hidden) {
        context.fillRect(middle - zoom.across / 5, height - 0.5, zoom.across / 2.5, 1);
      }
    }
  }
}

// So that a number can be read on hatching.
function backing(context, text, x, y, pixel) {
  const ink = context.fillStyle;
  const width = context.measureText(text).width + 4;
  context.fillStyle = css(pixel);
  context.fillRect(x - width / 2, y - 7, width, 14);
  context.fillStyle = ink;
}

// The frame of one cell, dark on light or light on dark, whatever lies below.
export function drawFrame(context, zoom, margin, ink, [row, column], weight) {
  const x = margin.left + (column - zoom.left) * zoom.across;
  const y = margin.top + (row - zoom.top) * zoom.down;
  const [width, height] = [Math.max(zoom.across, 3), Math.max(zoom.down, 3)];
  const inside = x > margin.left - width && x < margin.left + zoom.width;
  if (!inside || y <= margin.top - height || y >= margin.top + zoom.height) {
    return;
  }
  context.save();
  context.beginPath();
  context.rect(margin.left - 2, margin.top - 2, zoom.width + 4, zoom.height + 4);
  context.clip();
  context.strokeStyle = ink.paper;
  context.lineWidth = weight + 2;
  context.strokeRect(x, y, width, height);
  context.strokeStyle = ink.strong;
  context.lineWidth = weight;
  context.strokeRect(x, y, width, height);
  context.restore();
}
