// Where the panel of one entry stands beside a map: made when a place is asked for, emptied when it's left.

import { cellPanel } from "./cell.js";
import { fill, h } from "./dom.js";
import { parsePlace } from "./walk.js";

export class CellBox {
  // `root` has the class `has-cell` while a panel stands.
  constructor(root, onClose) {
    this.root = root;
    this.onClose = onClose;
    this.turn = 0;
    this.element = h("div", { class: "value-cell" });
  }

  // Shows the entry that `query.at` names, or nothing. `take` brings the focus and the screen to it.
  async show(context, entry, query, take = false) {
    const place = parsePlace(query.at, entry.shape);
    this.root.classList.toggle("has-cell", place !== null);
    const turn = (this.turn += 1);
    if (!place) {
      this.element.replaceChildren();
      return;
    }
    const active = document.activeElement;
    const held = this.element.contains(active) ? active.dataset.action : undefined;
    let panel;
    try {
      panel = await cellPanel(context, entry, place, query, this.onClose);
    } catch (error) {
      panel = h("p", { class: "panel error", role: "alert" }, error.message);
    }
    if (turn !== this.turn || context.signal.aborted) {
      return;
    }
    fill(this.element, panel);
    const title = panel.querySelector(".cell-title");
    if (take) {
      title?.focus({ preventScroll: true });
      panel.scrollIntoView({ block: "nearest" });
    } else if (held) {
      panel.querySelector(`[data-action=${held}]`)?.focus({ preventScroll: true });
    }
  }
}
