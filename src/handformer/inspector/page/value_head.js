// What stands above a map: the value's name, what it is, how it is computed.

import { shapeText } from "./chart.js";
import { h } from "./dom.js";
import { formulaMath } from "./math.js";
import { givenKey, mathWords } from "./value_words.js";

// `controls` stand beside the name.
export function heading({ trace, t }, entry, controls) {
  const parts = entry.path.split(".");
  const name = parts.pop();
  const before = parts.length ? h("span", { class: "soft" }, `${parts.join(".")}.`) : null;
  const also = entry.also ?? [];
  return h(
    "header",
    { class: "map-head" },
    h("div", { class: "value-line" }, h("h1", { class: "title value-title" }, before, name), controls),
    h(
      "p",
      { class: "value-facts soft" },
      h("span", { "data-fact": "kind" }, t(`value.kind.${entry.kind}`)),
      h("span", { class: "mono", "data-fact": "shape" }, shapeText(entry) || t("value.scalar")),
      h("span", { class: "mono" }, entry.dtype),
      also.length ? h("span", null, `${t("value.also")} `, also.map((path) => h("span", { class: "mono" }, `${path} `))) : null,
    ),
    formulaLine(trace, entry, t) ?? h("p", { class: "soft" }, t(givenKey(entry))),
  );
}

// The formula of a value on a line that scrolls by itself; null for what comes from outside.
export function formulaLine(trace, entry, t) {
  const formula = trace.formula(entry.path);
  if (!formula) {
    return null;
  }
  const said = { tabindex: "0", role: "group", "aria-label": t("value.cell.formula") };
  return h("div", { class: "scroll-x value-formula", "data-math": "formula", ...said }, formulaMath(formula, { words: mathWords(t) }));
}
