// The way from one number to the numbers it came from, as it stands in the address:
// "loss.loss!.~head.d_out!0,3,17" are two steps that were taken before the present one.

import { last } from "./names.js";

const LONGEST = 32;

// A place in an address; "." is that of a single number, which has no axes.
export function placeText(place) {
  return place.map((at) => at ?? 0).join(",") || ".";
}

// The place of such a text if it lies in an array of this shape, else null.
export function parsePlace(text, shape) {
  if (text === undefined || text === null) {
    return null;
  }
  const place = text === "." || text === "" ? [] : text.split(",").map(Number);
  const fits = place.length === shape.length && place.every((at, axis) => Number.isInteger(at) && at >= 0 && at < shape[axis]);
  return fits ? place : null;
}

// "scores[0,1,3,2]"; a place that is null stands for all of its axis.
export function cellName(path, place, long = false) {
  const name = long ? path : last(path);
  return place.length ? `${name}[${place.map((at) => at ?? ":").join(",")}]` : name;
}

// The steps of an address, the first one first.
export function parseWalk(text) {
  return (text ?? "").split("~").flatMap((step) => {
    const cut = step.lastIndexOf("!");
    return cut > 0 ? [{ path: step.slice(0, cut), at: step.slice(cut + 1) }] : [];
  });
}

function walkText(steps) {
  return steps.slice(-LONGEST).map(({ path, at }) => `${path}!${at}`).join("~");
}

// The address of a number. `steps` are the ones that lead to it.
export function cellHref(context, path, place, { steps = [], query = {} } = {}) {
  const entry = context.trace.entry(path);
  const back = /gradient/.test(entry?.kind ?? "");
  const at = typeof place === "string" ? place : placeText(place);
  return context.href("value", path, { ...query, at, walk: walkText(steps) || null, dir: back ? "back" : null });
}
