// A plane of numbers as a map: drawn once for each window, with the place that is looked at on a second
// canvas above it. So moving the pointer draws a few lines, however large the map.

import { h } from "./dom.js";
import { drawCells, drawFrame, isHidden } from "./drawing.js";
import { gridKey } from "./grid_keys.js";
import { read } from "./plane.js";
import { listen } from "./pointers.js";
import { drawNames, drawTicks, margins } from "./ticks.js";
import { Tiles } from "./tiles.js";
import { Zoom, windowText } from "./zoom.js";

const TALLEST = 620; // pixels, and never more than most of the screen

// A map as an element with a keyboard of its own.
//
// shown  {plane, mask, scale, rows, columns, key}: rows and columns are {letter, size, text(place)} or null;
//        planes with the same key share their coarser copies
// on     {cursor(row, column), open(row, column), window(edges or null), describe(row, column) -> text, key(event) -> handled}
export class Heat {
  constructor({ label, help, on, compact = false, signal }) {
    this.on = on;
    this.compact = compact;
    this.cursor = [0, 0];
    this.hover = null;
    this.base = h("canvas", { class: "heat-base", "aria-hidden": "true" });
    this.over = h("canvas", { class: "heat-over", "aria-hidden": "true" });
    this.stage = h(
      "div",
      {
        class: "heat-stage",
        tabindex: compact ? null : "0",
        role: compact ? null : "application",
        "aria-hidden": compact ? "true" : null,
        "aria-roledescription": compact ? null : help.role,
        "aria-label": compact ? null : label,
        "aria-description": compact ? null : help.keys,
        "data-heat": "",
      },
      this.base,
      this.over,
    );
    this.said = h("p", { class: "heat-said mono", "data-readout": "", "aria-hidden": "true" });
    this.element = h("div", { class: "heat" }, this.stage, compact ? null : this.said);
    this.signal = signal;
    if (!compact) {
      this.listen(signal);
    }
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.element);
    signal?.addEventListener("abort", () => this.watch.disconnect());
    document.addEventListener("themechange", () => this.on.theme?.(), { signal });
  }

  // Shows another plane, or the same one with other colours. `window`: the edges of what to show, null for all of it.
  // `reveal` keeps the cursor in view.
  show(shown, { cursor = this.cursor, window, reveal = false } = {}) {
    const fresh = !this.shown || this.shown.plane.data !== shown.plane.data;
    const moved = fresh || this.shown.plane.start !== shown.plane.start || this.shown.key !== shown.key;
    const { rows, columns } = shown.plane;
    const tiles = moved ? new Tiles(shown.plane, shown.mask) : this.shown.tiles;
    if (!this.zoom || this.zoom.rows !== rows || this.zoom.columns !== columns) {
      this.zoom = new Zoom(rows, columns);
    }
    this.shown = { ...shown, tiles };
    this.cursor = [Math.min(cursor[0], rows - 1), Math.min(cursor[1], columns - 1)];
    this.wanted = window;
    this.reveal = reveal;
    this.width = 0;
    this.resize();
  }

  resize() {
    const width = Math.floor(this.element.clientWidth);
    if (!this.shown || width === 0 || width === this.width) {
      return;
    }
    this.width = width;
    const { rows, columns } = this.shown;
    const context = this.base.getContext("2d");
    const tallest = this.compact ? width : Math.min(TALLEST, Math.max(200, innerHeight * 0.72));
    // The labels' room depends on the size of the cells, and that on the room: two rounds settle it.
    let margin = { left: 0, top: 0 };
    for (let round = 0; round < 2; round += 1) {
      this.zoom.resize(Math.max(40, width - margin.left - 2), tallest);
      margin = margins(context, rows, columns, this.zoom, this.compact);
    }
    this.zoom.resize(Math.max(40, width - margin.left - 2), tallest);
    this.margin = margin;
    if (this.wanted !== undefined) {
      if (this.wanted) {
        this.zoom.show(this.wanted);
      } else {
        this.zoom.fit();
      }
      this.wanted = undefined;
    }
    if (this.reveal) {
      this.zoom.reveal(...this.cursor);
    }
    this.density = devicePixelRatio || 1;
    const size = [margin.left + this.zoom.width + 2, margin.top + this.zoom.height + 2];
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.ceil(size[0] * this.density);
      canvas.height = Math.ceil(size[1] * this.density);
      canvas.style.width = `${size[0]}px`;
      canvas.style.height = `${size[1]}px`;
    }
    this.stage.style.width = `${size[0]}px`;
    this.stage.style.height = `${size[1]}px`;
    this.draw();
  }

  // Draws the map anew at the next frame; many changes in between cost one drawing.
  later() {
    this.drawing ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.drawing);
    this.drawing = null;
    const started = performance.now();
    const { rows, columns } = this.shown;
    const look = getComputedStyle(this.element);
    this.ink = {
      strong: look.getPropertyValue("--ink").trim() || look.color,
      soft: look.getPropertyValue("--soft").trim() || look.color,
      line: look.getPropertyValue("--line").trim() || look.color,
      paper: look.getPropertyValue("--paper").trim() || "Canvas",
    };
    const context = this.base.getContext("2d");
    context.setTransform(this.density, 0, 0, this.density, 0, 0);
    context.clearRect(0, 0, this.base.width, this.base.height);
    drawCells(context, this.shown, this.zoom, this.margin.left, this.margin.top, this.density);
    context.strokeStyle = this.ink.line;
    context.lineWidth = 1;
    const { width, height } = this.zoom;
    context.strokeRect(this.margin.left - 0.5, this.margin.top - 0.5, width + 1, height + 1);
    drawTicks(context, rows, columns, this.zoom, this.margin, this.ink);
    if (!this.compact) {
      drawNames(context, rows, columns, this.zoom, this.margin, this.ink);
      this.stage.style.touchAction = this.zoom.whole ? "pan-y" : "none";
      this.point();
    }
    this.stage.dataset.window = windowText(this.zoom.edges());
    this.stage.dataset.milliseconds = (performance.now() - started).toFixed(1);
  }

  // The place that is looked at: its frame, its labels, its number.
  point() {
    this.pointing = null;
    const context = this.over.getContext("2d");
    context.setTransform(this.density, 0, 0, this.density, 0, 0);
    context.clearRect(0, 0, this.over.width, this.over.height);
    this.frame(context, this.cursor, 2);
    const at = this.hover ?? this.cursor;
    if (this.hover) {
      this.frame(context, this.hover, 1);
    }
    drawTicks(context, this.shown.rows, this.shown.columns, this.zoom, this.margin, this.ink, at);
    const text = this.on.describe?.(...at) ?? "";
    if (this.said.textContent !== text) {
      this.said.textContent = text;
    }
    const place = this.cursor.join(",");
    if (this.stage.dataset.cursor !== place) {
      this.stage.dataset.cursor = place;
    }
  }

  // Marks the place that is looked at in another map.
  echo(cell) {
    this.hover = cell;
    this.pointing ??= requestAnimationFrame(() => this.point());
  }

  frame(context, cell, weight) {
    drawFrame(context, this.zoom, this.margin, this.ink, cell, weight);
  }

  hidden(row, column) {
    return isHidden(this.shown, row, column);
  }

  number(row, column) {
    return read(this.shown.plane, row, column);
  }

  // Puts the cursor on a cell, and into view.
  move(row, column, tell = true) {
    const { rows, columns } = this.zoom;
    this.cursor = [
      Math.min(Math.max(0, row), rows - 1),
      Math.min(Math.max(0, column), columns - 1),
    ];
    const [left, top] = [this.zoom.left, this.zoom.top];
    this.zoom.reveal(...this.cursor);
    if (left !== this.zoom.left || top !== this.zoom.top) {
      this.draw();
      this.tellWindow();
    } else {
      this.point();
    }
    if (tell) {
      this.on.cursor?.(...this.cursor);
    }
  }

  enlarge(factor, x, y) {
    const before = [this.zoom.across, this.zoom.down];
    this.zoom.by(factor, x, y);
    const changed = before[0] !== this.zoom.across || before[1] !== this.zoom.down;
    if (changed) {
      this.later();
      this.tellWindow();
    }
    return changed;
  }

  // Larger or smaller around the cursor.
  step(factor) {
    const at = (place, first, scale) => (place + 0.5 - first) * scale;
    const x = at(this.cursor[1], this.zoom.left, this.zoom.across);
    const y = at(this.cursor[0], this.zoom.top, this.zoom.down);
    const seen = x >= 0 && y >= 0 && x <= this.zoom.width && y <= this.zoom.height;
    return this.enlarge(factor, seen ? x : undefined, seen ? y : undefined);
  }

  fit() {
    this.zoom.fit();
    this.later();
    this.tellWindow();
  }

  tellWindow() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      if (!this.signal?.aborted) {
        this.on.window?.(this.zoom.whole ? null : this.zoom.edges());
      }
    }, 250);
  }

  listen(signal) {
    const cell = (x, y) => this.shown && this.zoom.cell(x - this.margin.left, y - this.margin.top);
    const on = {
      hover: (x, y) => {
        const found = x === null ? null : cell(x, y);
        if (String(found) !== String(this.hover)) {
          this.hover = found;
          this.on.hover?.(found);
          this.pointing ??= requestAnimationFrame(() => this.point());
        }
      },
      tap: (x, y) => {
        const found = cell(x, y);
        if (found) {
          this.stage.focus({ preventScroll: true });
          this.move(...found, false);
          this.on.open?.(...found);
        }
      },
      pan: (dx, dy) => {
        if (!this.zoom.whole) {
          this.hover = null;
          this.zoom.pan(dx, dy);
          this.later();
          this.tellWindow();
        }
      },
      zoom: (factor, x, y) => this.enlarge(factor, x - this.margin.left, y - this.margin.top),
    };
    listen(this.stage, on, signal);
    this.stage.addEventListener("keydown", (event) => this.key(event), { signal });
  }

  key(event) {
    // Some keyboards write brackets with AltGr, which counts as Alt too.
    const plain = !event.altKey || event.getModifierState("AltGraph");
    if (plain && (this.on.key?.(event) || gridKey(this, event))) {
      event.preventDefault();
      event.stopPropagation();
    }
  }
}
