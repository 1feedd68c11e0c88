// The scale of colours with its limits in numbers, and what else a cell may look like.

import { colourOf, css, hatchCss } from "./colours.js";
import { h } from "./dom.js";
import { number } from "./histogram.js";

const STOPS = 33;

// on: {narrower, wider, reset}: a narrower scale shows small numbers more strongly.
export function legend(scale, found, { masked, full, usual }, t, on) {
  const low = scale.kind === "sequential" ? 0 : -scale.limit;
  const stops = Array.from({ length: STOPS }, (_, at) => {
    const x = low + (at / (STOPS - 1)) * (scale.limit - low);
    return css(colourOf(scale, x));
  });
  const bar = h("div", {
    class: "scalebar-bar",
    role: "img",
    "aria-label": t(`value.legend.${scale.kind}`, { limit: number(scale.limit).textContent }),
    style: { "background-image": `linear-gradient(to right, ${stops.join(", ")})` },
  });
  const zero = scale.kind === "sequential" ? null : h("span", { class: "scalebar-zero" }, "0");
  const button = (name, sign, act, disabled = false) =>
    h("button", { type: "button", class: "button small", "data-action": `scale-${name}`, title: t(`value.scale.${name}`), "aria-label": t(`value.scale.${name}`), onclick: act, disabled }, sign);
  const clipped = scale.limit < full * 0.999;
  return h(
    "div",
    { class: "scalebar", "data-legend": scale.kind, "data-limit": String(scale.limit) },
    h("div", { class: "scalebar-scale" }, bar, h("div", { class: "scalebar-ends mono" }, number(low), zero, number(scale.limit))),
    h(
      "div",
      { class: "scalebar-buttons", role: "group", "aria-label": t("value.scale") },
      button("narrower", "[", on.narrower),
      button("wider", "]", on.wider),
      button("reset", "\u21ba", on.reset, scale.limit === usual),
    ),
    clipped ? h("span", { class: "soft scalebar-note" }, t("value.scale.clipped")) : null,
    masked || found.hidden ? swatch(hatchCss(scale), t(masked ? "value.legend.masked" : "value.legend.hidden")) : null,
    found.nan ? swatch(css(scale.nan), t("value.legend.nan")) : null,
  );
}

function swatch(background, text) {
  return h("span", { class: "scalebar-swatch" }, h("i", { style: { background } }), text);
}
