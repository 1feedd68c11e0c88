// How the numbers of a value spread, and what they are like, in a picture and in numbers.

import { colourOf, css } from "./colours.js";
import { h, s } from "./dom.js";
import { percent, short, whole } from "./number.js";
import { spread } from "./statistics.js";

const [WIDTH, HEIGHT] = [320, 84];

// A number that can be read whole: by pointing at it, and by copying what `data-whole` holds.
export function number(x, digits) {
  return h("span", { class: "number", title: whole(x), "data-whole": whole(x) }, short(x, digits));
}

// The figure for a value. The bars' heights are logarithms of counts: a lone outlier can be seen.
export async function histogram(data, found, scale, t, signal) {
  const { low, high, counts } = await spread(data, found, signal);
  const tallest = Math.log1p(Math.max(...counts, 1));
  const wide = WIDTH / counts.length;
  const bars = [...counts].flatMap((count, at) => {
    if (!count) {
      return [];
    }
    const middle = low + ((at + 0.5) * (high - low)) / counts.length;
    const height = Math.max(1.5, (Math.log1p(count) / tallest) * HEIGHT);
    const from = low + (at * (high - low)) / counts.length;
    const said = `${short(from)} \u2026 ${short(from + (high - low) / counts.length)}: ${count}`;
    const bar = { x: at * wide, y: HEIGHT - height, width: Math.max(wide - 0.7, 0.5), height };
    const fill = { fill: css(colourOf(scale, middle)) };
    return s("rect", { ...bar, class: "histogram-bar", style: fill }, s("title", null, said));
  });
  const zero = low < 0 && high > 0 ? (-low / (high - low)) * WIDTH : null;
  const picture = s(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT + 1}`,
      class: "histogram",
      role: "img",
      "aria-label": t("value.histogram.label", { low: short(low), high: short(high) }),
      preserveAspectRatio: "none",
    },
    bars,
    zero === null ? null : s("line", { x1: zero, x2: zero, y1: 0, y2: HEIGHT, class: "histogram-zero" }),
    s("line", { x1: 0, x2: WIDTH, y1: HEIGHT + 0.5, y2: HEIGHT + 0.5, class: "histogram-foot" }),
  );
  const ends = h("div", { class: "histogram-ends mono soft" }, number(low), number(high));
  return h("figure", { class: "histogram-box", "data-histogram": "" }, picture, ends, h("figcaption", { class: "soft" }, t("value.histogram.log")));
}

// The list of numbers beside it.
export function figures(found, t) {
  const share = (count) => [h("span", { title: String(count) }, percent(count / Math.max(1, found.count)))];
  const rows = [
    ["count", h("span", { class: "number" }, String(found.count))],
    ["mean", number(found.mean)],
    ["norm", number(found.norm)],
    ["min", number(found.min)],
    ["max", number(found.max)],
    ["zeros", share(found.zeros)],
    ["hidden", found.hidden ? share(found.hidden) : null],
    ["infinite", found.infinite ? share(found.infinite) : null],
    ["nan", found.nan ? share(found.nan) : null],
  ];
  return h(
    "dl",
    { class: "map-figures" },
    rows
      .filter(([, shown]) => shown !== null)
      .map(([name, shown]) => h("div", { "data-figure": name }, h("dt", null, t(`value.figure.${name}`)), h("dd", null, shown))),
  );
}
