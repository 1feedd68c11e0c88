// The model's sizes, and the text that it reads.

import { h } from "./dom.js";
import { tokenLabel } from "./token_text.js";
import { className } from "./picture_words.js";
import { t } from "./words.js";

const MOST = 48; // tokens that are shown at once
const SIZES = ["n_layers", "n_heads", "n_kv_heads", "d_model", "d_ff", "vocab_size"];

// One line: what kind of model this is, and how large.
export function facts(trace) {
  const { model: kind, config = {}, dtype } = trace.manifest;
  const weights = trace.entries
    .filter((entry) => entry.kind === "weight")
    .reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
  const sizes = SIZES.filter((name) => config?.[name] !== null && config?.[name] !== undefined).map(
    (name) => [name, config[name]],
  );
  const item = (name, value) =>
    h(
      "li",
      {},
      h("span", { class: "soft mono" }, name),
      " ",
      h("span", { class: "number" }, value),
    );
  return h(
    "ul",
    { class: "facts" },
    h("li", {}, [className(kind), config?.family].filter(Boolean).join(" · ")),
    weights > 0 && item(t("picture.weights"), weights.toLocaleString("en")),
    sizes.map(([name, value]) => item(name, value)),
    h("li", { class: "soft" }, dtype),
  );
}

// The tokens of a side of the model, each with its number on the text.
export function strip(trace, side, { href }) {
  const entry = trace.entry(side);
  const [rows, count] = entry.shape.length > 1 ? entry.shape : [1, entry.shape[0]];
  const shown = Math.min(count, MOST);
  const list = h("ol", { class: "tokens", "aria-label": t(`picture.side.${side}`) });
  const label = (ids) => {
    const items = Array.from({ length: shown }, (_, place) => {
      const text = trace.tokenText(side === "source" ? "s" : "t", place, 0, side);
      return h(
        "li",
        { class: "token", title: `${side}[0,${place}]${ids ? ` = ${ids[place]}` : ""}` },
        text === null ? (ids ? String(ids[place]) : "·") : tokenLabel(text),
      );
    });
    list.replaceChildren(...items);
  };
  label(null);
  trace.array(side).then(
    ({ data }) => label(data),
    () => {},
  );
  const more = [
    count > shown && t("picture.more_tokens", { count: count - shown }),
    rows > 1 && t("picture.more_rows", { count: rows - 1 }),
  ]
    .filter(Boolean)
    .join(" · ");
  const name = h("a", { class: "name mono", href: href("value", side), "data-path": side }, side);
  return h("div", { class: "strip" }, name, list, more && h("span", { class: "soft" }, more));
}
