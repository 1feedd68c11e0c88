// Lines from the encoder's memory to every part that looks at it, drawn over both columns.

import { s } from "./dom.js";

const GAP = 14; // between the gutter's line and the columns

export class Wires {
  constructor(area, memory) {
    this.area = area;
    this.memory = memory;
    this.lines = s("svg", { class: "wires", "aria-hidden": "true" });
    area.append(this.lines);
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(area);
    for (const side of area.querySelectorAll(".side")) {
      this.watcher.observe(side);
    }
  }

  stop() {
    this.watcher.disconnect();
  }

  // Once a frame at most.
  draw() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = null;
      this.paint();
    });
  }

  paint() {
    const [first, second] = this.area.querySelectorAll(".side");
    const from = first.querySelector(`[data-stream="${CSS.escape(this.memory)}"]:last-child .line`);
    const frame = this.area.getBoundingClientRect();
    const left = second.getBoundingClientRect().left - frame.left;
    if (!from || left < 100) {
      this.lines.replaceChildren(); // the columns stand one below the other
      return;
    }
    this.lines.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    const start = from.getBoundingClientRect();
    const y = start.top + 14 - frame.top;
    const x = left - GAP;
    const ends = [
      ...second.querySelectorAll(".card[data-looks], .closed > .block-head[data-looks]"),
    ]
      .filter((end) => end.offsetParent !== null)
      .map((end) => end.getBoundingClientRect());
    const places = ends.map((end) => [
      end.left - frame.left,
      end.top + Math.min(end.height / 2, 22) - frame.top,
    ]);
    const reach = places.map(([, end]) => end);
    const bus = `M${start.right - frame.left + 6} ${y}H${x}M${x} ${Math.min(y, ...reach)}V${Math.max(y, ...reach)}`;
    const wire = (d, kind) => s("path", { class: kind, d });
    const arrows = places.map(([end, at]) => [
      wire(`M${x} ${at}H${end - 2}`, "halo"),
      wire(`M${x} ${at}H${end - 2}`, "wire"),
      wire(`M${end - 8} ${at - 4}L${end - 2} ${at}L${end - 8} ${at + 4}`, "wire tip"),
      wire(`M${x + 8} ${at - 4}L${x + 2} ${at}L${x + 8} ${at + 4}`, "wire tip back"),
    ]);
    this.lines.replaceChildren(wire(bus, "halo"), wire(bus, "wire"), ...arrows.flat());
  }
}
