// The places along the axes of a map, written at its edges: numbers, or the texts of tokens.

import { tokenLabel } from "./token_text.js";

const FONT = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
const NAME = "italic 12px ui-serif, Georgia, serif";
const VOCABULARY = new Set(["n", "m"]);
const LONGEST = 14; // letters of a token's text that are shown at an edge

function cut(text, length) {
  const letters = [...text];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}\u2026` : text;
}

// What stands at one place of an axis: {letter, name, size, text(place)}.
export function label(axis, place, length = LONGEST, bare = false) {
  const text = bare ? null : axis.text?.(place);
  return text === null || text === undefined ? String(place) : cut(tokenLabel(text), length);
}

// Of a vocabulary's entries that stand far apart the numbers say more than the texts.
function tick(axis, place, step) {
  return label(axis, place, LONGEST, step > 1 && VOCABULARY.has(axis.letter));
}

// Every how many places a tick stands, so that ticks are at least `room` pixels apart.
export function every(pixels, room) {
  let step = 1;
  for (let at = 0; step * pixels < room; at += 1) {
    step = [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3);
  }
  return step;
}

function* places(first, last, step) {
  for (let at = Math.ceil(first / step) * step; at <= last; at += step) {
    yield at;
  }
}

// The room that the labels need: {left, top} pixels, and how they stand.
export function margins(context, rows, columns, zoom, compact) {
  context.font = FONT;
  const widest = (axis, limit) => {
    const samples = axis.text
      ? Array.from({ length: Math.min(axis.size, 64) }, (_, at) => label(axis, at))
      : [String(Math.max(axis.size - 1, 0))];
    return Math.min(limit, Math.max(...samples.map((text) => context.measureText(text).width)));
  };
  const limit = compact ? 44 : 96;
  const names = compact ? 0 : 16;
  const wide = columns ? widest(columns, limit) : 0;
  const upright = Boolean(columns) && wide + 8 > zoom.across && (Boolean(columns.text) || wide > 40);
  return {
    left: rows ? Math.ceil(widest(rows, limit)) + 8 + names : 1,
    top: columns ? (upright ? Math.ceil(wide) : 12) + 6 + names : 1,
    upright,
  };
}

// Draws both edges. `at` is the cell that is looked at: its labels are drawn strongly.
export function drawTicks(context, rows, columns, zoom, margin, ink, at = null) {
  const { top, left, bottom, right } = zoom.seen();
  context.font = FONT;
  if (columns) {
    const step = every(zoom.across, margin.upright || columns.text ? 13 : 34);
    const shown = at ? [at[1]] : places(left, right, step);
    for (const column of shown) {
      const x = margin.left + (column + 0.5 - zoom.left) * zoom.across;
      if (x >= margin.left - 1 && x <= margin.left + zoom.width + 1) {
        columnTick(context, tick(columns, column, at ? 1 : step), x, margin, at ? ink.strong : ink.soft, at && ink.paper);
      }
    }
  }
  if (rows) {
    const step = every(zoom.down, 13);
    for (const row of at ? [at[0]] : places(top, bottom, step)) {
      const y = margin.top + (row + 0.5 - zoom.top) * zoom.down;
      if (y >= margin.top - 1 && y <= margin.top + zoom.height + 1) {
        rowTick(context, tick(rows, row, at ? 1 : step), y, margin, at ? ink.strong : ink.soft, at && ink.paper);
      }
    }
  }
}

function columnTick(context, text, x, margin, ink, paper) {
  context.save();
  context.translate(x, margin.top - 4);
  if (margin.upright) {
    context.rotate(-Math.PI / 2);
  }
  context.textAlign = margin.upright ? "left" : "center";
  context.textBaseline = margin.upright ? "middle" : "alphabetic";
  if (paper) {
    const width = context.measureText(text).width;
    context.fillStyle = paper;
    context.fillRect(margin.upright ? -1 : -width / 2 - 2, margin.upright ? -7 : -11, width + 4, 14);
  }
  context.fillStyle = ink;
  context.fillText(text, 0, 0);
  context.restore();
}

function rowTick(context, text, y, margin, ink, paper) {
  context.textAlign = "right";
  context.textBaseline = "middle";
  if (paper) {
    const width = context.measureText(text).width;
    context.fillStyle = paper;
    context.fillRect(margin.left - width - 6, y - 7, width + 4, 14);
  }
  context.fillStyle = ink;
  context.fillText(text, margin.left - 4, y);
}

// The axes' letters: the one of the rows beside them, that of the columns above.
export function drawNames(context, rows, columns, zoom, margin, ink) {
  context.font = NAME;
  context.fillStyle = ink.strong;
  context.textBaseline = "top";
  if (columns) {
    context.textAlign = "left";
    context.fillText(`${columns.letter} \u2192`, margin.left, 1);
  }
  if (rows) {
    context.textAlign = "left";
    context.fillText(`${rows.letter} \u2193`, 1, margin.top - (columns ? 15 : 1));
  }
}
