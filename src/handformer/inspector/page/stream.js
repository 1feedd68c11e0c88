// A place of the residual stream: a plus where two things are added, a dot elsewhere.

import { fill, h } from "./dom.js";
import { last } from "./names.js";
import { whole } from "./number.js";
import { terms } from "./structure.js";
import { t } from "./words.js";

// The row of a value in a picture; backward it shows the value's gradient.
export function streamRow(picture, path) {
  const { trace } = picture;
  const final = trace.entry(path).shape.length === 0;
  const item = h("li", { class: final ? "row stream final" : "row stream", "data-stream": path });
  picture.changing(() => {
    const shown = picture.direction === "back" ? trace.gradientOf(path) : path;
    const added = shown ? terms(trace.formula(shown)) : null;
    const sum =
      added &&
      h("span", { class: "visually-hidden" }, t("picture.sum", { terms: added.join(" + ") }));
    const word =
      path === picture.memory ? "picture.memory" : isLogits(trace, path) ? "picture.logits" : null;
    const name = shown
      ? link(trace.entry(shown), picture.context)
      : h("span", { class: "name mono faint" }, given(trace, path));
    fill(
      item,
      node(shown, added),
      h(
        "div",
        { class: "line" },
        name,
        sum,
        word && h("span", { class: "soft" }, t(word)),
        picture.flows.of(shown),
      ),
    );
  });
  return item;
}

function node(shown, added) {
  const title = added && `${last(shown)} = ${added.join(" + ")}`;
  return h(
    "span",
    { class: added ? "node plus" : "node", title, "aria-hidden": "true" },
    added ? "+" : "",
  );
}

// A value's name, its place in the model before it.
function link({ path, also = [] }, { href }) {
  const best = [path, ...also].find((one) => !one.includes(".")) ?? path;
  const [, block, part, name] = best.match(/^(.*\.\d+\.)?(.*\.)?(.*)$/);
  return h(
    "a",
    { class: "name mono", href: href("value", path), "data-path": path, title: path },
    block && h("span", { class: "faint block-path" }, block),
    part && h("span", { class: "faint" }, part),
    name,
  );
}

// What comes in from outside and is no array: the gradient of the loss, as `d_loss = 1`.
function given(trace, path) {
  const name = `d_${last(path)}`;
  const scalars = trace.scalars(trace.parent(path) ?? "");
  return name in scalars ? `${name} = ${whole(scalars[name])}` : last(path);
}

// Whether a value is what the loss reads.
function isLogits(trace, path) {
  return [path, ...(trace.entry(path).also ?? [])].includes("loss.logits");
}
