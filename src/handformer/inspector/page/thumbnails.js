// Attention in small: one picture a head, on the card of the part that attends.

import { colourOf, makeScale } from "./colours.js";
import { h } from "./dom.js";
import { join } from "./names.js";
import { t } from "./words.js";

const HEADS = 12; // as many are shown
const ENTRIES = 2 ** 20; // of larger arrays there is no picture here
const OUTSIDE = "300px";

// Fills `place` with the first row's heads: what they attend to, or the gradient of their scores.
export function thumbnails(place, unit, trace, context) {
  place.replaceChildren();
  const path = join(unit.path, context.direction === "back" ? "d_scores" : "attn");
  const entry = trace.entry(path);
  if (
    !entry ||
    entry.kept === false ||
    entry.shape.length < 2 ||
    entry.shape.reduce((a, b) => a * b, 1) > ENTRIES
  ) {
    return;
  }
  const heads = entry.axes.includes("h") ? entry.shape[entry.axes.indexOf("h")] : 1;
  const [queries, keys] = entry.shape.slice(-2);
  const links = Array.from({ length: Math.min(heads, HEADS) }, (_, head) => {
    const canvas = h("canvas", { width: keys, height: queries, "aria-hidden": "true" });
    return h(
      "a",
      {
        class: "thumbnail",
        href: context.href("attention", unit.path, { head }),
        "data-head": head,
        "aria-label": t("picture.head", { head }),
        title: t("picture.head", { head }),
      },
      canvas,
    );
  });
  place.append(...links);
  if (heads > HEADS) {
    place.append(h("span", { class: "soft" }, t("picture.more_heads", { count: heads - HEADS })));
  }
  const paint = async () => {
    const { data } = await trace.array(path);
    draw(links, data, queries, keys, context.direction === "back");
  };
  const watcher = new IntersectionObserver(
    (seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) {
        watcher.disconnect();
        paint().catch(() => place.replaceChildren());
        document.addEventListener("themechange", () => links[0].isConnected && paint(), {
          signal: context.signal,
        });
      }
    },
    { rootMargin: OUTSIDE },
  );
  watcher.observe(place);
}

function draw(links, data, queries, keys, signed) {
  const size = queries * keys;
  let limit = 1;
  if (signed) {
    limit = 0;
    for (let at = 0; at < size * links.length; at += 1) {
      limit = Math.max(limit, Math.abs(data[at]) || 0);
    }
  }
  const scale = makeScale(signed ? "diverging" : "sequential", limit);
  links.forEach((link, head) => {
    const canvas = link.firstElementChild;
    const image = new ImageData(keys, queries);
    const pixels = new Uint32Array(image.data.buffer);
    for (let at = 0; at < size; at += 1) {
      pixels[at] = colourOf(scale, data[head * size + at]);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  });
}
