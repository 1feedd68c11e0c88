// From what a model said to what was drawn: the likeliest tokens, before and after temperature, top-k and top-p.

import { h } from "./dom.js";
import { percent, whole } from "./number.js";
import { t } from "./words.js";
import { tokenLabel } from "./token_text.js";

// `step` as the server tells it; `question` the settings that hold.
export function distribution(step, question) {
  const most = Math.max(...step.entries.flatMap(({ before, after }) => [before, after]));
  const { rest, token } = step;
  const rows = step.entries.map((entry, place) => row(entry, { place, most, drawn: entry.id === token.id, rank: entry.id === token.id ? token.rank : place }));
  return h(
    "section",
    { class: "draw", "aria-labelledby": "draw-title", "data-step": step.step },
    h("h2", { id: "draw-title" }, t("generate.draw", { step: step.step })),
    h("p", {}, t("generate.draw.about", { token: tokenLabel(token.text), rank: token.rank + 1 })),
    stages(step, question),
    h(
      "table",
      { class: "draw-table" },
      h("caption", { class: "visually-hidden" }, t("generate.draw", { step: step.step })),
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col" }, t("generate.rank")), h("th", { scope: "col" }, t("generate.token")), h("th", { scope: "col" }, key("before"), key("after")), h("th", { scope: "col" }, t("generate.fate"))),
      ),
      h("tbody", {}, rows),
      rest.count > 0 &&
        h(
          "tfoot",
          {},
          h("tr", {}, h("td", {}), h("th", { scope: "row" }, t("generate.rest", { count: rest.count.toLocaleString("en") })), h("td", {}, plain("before", rest.before), plain("after", rest.after)), h("td", {})),
        ),
    ),
  );
}

// How many tokens each setting left.
function stages({ kept, vocabulary }, question) {
  const items = Object.entries(kept).map(([name, count]) =>
    h("li", { "data-stage": name }, t(`generate.stage.${name}`, { value: question[name] ?? "" }), " ", h("strong", { class: "number" }, count.toLocaleString("en"))),
  );
  return h("ol", { class: "draw-stages" }, h("li", {}, t("generate.vocabulary"), " ", h("strong", { class: "number" }, vocabulary.toLocaleString("en"))), items);
}

function row({ id, text, before, after, cut }, { most, drawn, rank }) {
  const fate = drawn ? t("generate.drawn") : cut ? t("generate.cut", { by: t(`generate.${cut}`) }) : t("generate.kept");
  return h(
    "tr",
    { "data-token": id, "data-cut": cut, "data-drawn": drawn || null },
    h("td", { class: "soft number" }, rank + 1),
    h("th", { scope: "row", class: "mono", title: `${id}`, dir: "auto" }, tokenLabel(text)),
    h("td", {}, bar("before", before, most), bar("after", after, most)),
    h("td", { class: "draw-fate" }, fate),
  );
}

function bar(name, value, most) {
  const width = `${Math.max(0, Math.min(1, most > 0 ? value / most : 0)) * 100}%`;
  return h(
    "div",
    { class: `draw-line draw-${name}` },
    h("span", { class: "draw-bar", "aria-hidden": "true" }, value > 0 && h("span", { class: "draw-fill", style: { width } })),
    number(name, value),
  );
}

function plain(name, value) {
  return h("div", { class: `draw-line draw-${name}` }, h("span", { class: "draw-bar", "aria-hidden": "true" }), number(name, value));
}

function number(name, value) {
  return h("span", { class: "number", title: whole(value), "data-probability": name, "data-whole": whole(value) }, h("span", { class: "visually-hidden" }, t(`generate.${name}`), " "), percent(value));
}

function key(name) {
  return h("span", { class: `draw-key draw-${name}` }, h("span", { class: "draw-swatch", "aria-hidden": "true" }), t(`generate.${name}`));
}
