// What a model remembers of the tokens that it has read: a key and a value for each layer, head and token. The map
// grows by a column with each token; the colour is the length of the key.

import { h } from "./dom.js";
import { Heat } from "./heat.js";
import { css, makeScale } from "./colours.js";
import { short, whole } from "./number.js";
import { t } from "./words.js";
import { tokenLabel } from "./token_text.js";

export class Memory {
  constructor(context) {
    this.context = context;
    this.facts = h("p", { "data-kept": "" });
    this.heat = new Heat({
      label: t("generate.keys.label"),
      help: { role: t("value.map.role"), keys: t("value.map.keys") },
      signal: context.signal,
      on: {
        cursor: (row, column) => context.announce(this.describe(row, column)),
        describe: (row, column) => this.describe(row, column),
        theme: () => this.paint(),
      },
    });
    this.scale = h("p", { class: "soft generate-scale" });
    this.element = h("section", { class: "keys-kept", "aria-labelledby": "keys-title" }, h("h2", { id: "keys-title" }, t("generate.keys")), this.facts, this.heat.element, this.scale);
  }

  // `kept`: sizes and lengths[layer][head][token]; `texts`: of the tokens, or null.
  show(kept, texts) {
    this.kept = kept;
    this.texts = texts;
    const { layers, heads, tokens, width, dtype, bytes } = kept;
    Object.assign(this.facts.dataset, { tokens, bytes });
    this.facts.textContent = t("generate.keys.facts", { layers, heads, tokens, width, dtype, bytes: bytes.toLocaleString("en") });
    this.paint();
  }

  paint() {
    const { lengths, heads, layers, tokens } = this.kept;
    const data = Float64Array.from(lengths.flat(2));
    const most = data.reduce((a, b) => Math.max(a, b), 0);
    const scale = makeScale("sequential", most);
    const plane = { data, start: 0, rows: layers * heads, columns: tokens, rowStep: tokens, columnStep: 1 };
    const rows = { letter: "l,g", size: plane.rows, text: (row) => `${Math.floor(row / heads)},${row % heads}` };
    const columns = { letter: "s", size: tokens, text: (column) => this.texts?.[column] ?? null };
    this.heat.show({ plane, mask: null, scale, rows, columns, key: `kept ${tokens}` }, { window: null });
    const swatch = (at) => h("span", { class: "generate-swatch", style: { background: css(at) }, "aria-hidden": "true" });
    this.scale.replaceChildren(t("generate.keys.length"), " 0 ", swatch(scale.alone[0]), swatch(scale.alone[127]), swatch(scale.alone[255]), ` ${short(most)}`);
  }

  describe(row, column) {
    const { heads, lengths } = this.kept;
    const [layer, head] = [Math.floor(row / heads), row % heads];
    const text = this.texts?.[column];
    return t("generate.keys.one", { layer, head, place: column, token: text === undefined || text === null ? "" : tokenLabel(text), length: whole(lengths[layer][head][column]) });
  }
}
