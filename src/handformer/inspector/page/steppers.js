// Which axes of a value are rows, columns and side by side, and where the others stand.

import { tokenText } from "./chart.js";
import { h } from "./dom.js";
import { tokenLabel } from "./token_text.js";

const LISTED = 200;

// on: {step(axis, place), lay({rows, cols, many})}
export function steppers(context, entry, layout, at, on) {
  const { t } = context;
  const { rows, columns, many } = layout;
  const others = entry.shape.map((size, axis) => axis).filter((axis) => axis !== rows && axis !== columns && entry.shape[axis] > 1);
  const name = (axis) => axisName(t, entry.axes[axis] ?? "");
  const choose = (key, own, none) => {
    const options = entry.axes.map((letter, axis) => h("option", { value: letter, selected: axis === own }, `${letter}: ${name(axis)}`));
    const empty = none ? h("option", { value: "-", selected: own === null }, t("value.none")) : null;
    const select = h("select", { "data-layout": key, onchange: (event) => on.lay(chosen(entry, layout, key, event.target.value)) }, empty, options);
    return h("label", { class: "pick" }, h("span", { class: "soft" }, t(`value.lay.${key}`)), select);
  };
  const lay = on.lay && entry.axes.length > 1 && new Set(entry.axes).size === entry.axes.length ? [choose("rows", rows), choose("cols", columns), entry.axes.length > 2 ? choose("many", many, true) : null] : [];
  return [lay, others.map((axis) => stepper(context, entry, axis, at, on.step))];
}

// The choice as it stands in the address; an axis that was elsewhere makes room.
function chosen(entry, { rows, columns, many }, key, value) {
  const letters = { rows: entry.axes[rows], cols: entry.axes[columns], many: many === null ? "-" : entry.axes[many] };
  const before = letters[key];
  for (const [other, letter] of Object.entries(letters)) {
    if (other !== key && letter === value && value !== "-") {
      letters[other] = other === "many" ? "-" : before;
    }
  }
  return { ...letters, [key]: value };
}

function stepper(context, entry, axis, at, step) {
  const { t, trace } = context;
  const size = entry.shape[axis];
  const letter = entry.axes[axis];
  const own = at[axis];
  const go = (place) => step(axis, Math.min(size - 1, Math.max(0, place)));
  const text = (place) => {
    const found = tokenText(trace, entry, letter, place, at);
    return found === null ? String(place) : `${place} ${tokenLabel(found)}`;
  };
  const field =
    size <= LISTED
      ? h("select", { onchange: (event) => go(Number(event.target.value)) }, Array.from({ length: size }, (_, place) => h("option", { value: place, selected: place === own }, text(place))))
      : h("input", { type: "number", min: 0, max: size - 1, value: own, onchange: (event) => go(Number(event.target.value) || 0) });
  field.setAttribute("aria-label", axisName(t, letter));
  field.dataset.action = `step-${letter}`;
  const arrow = (sign, by) => {
    const name = t(by < 0 ? "value.step.before" : "value.step.after", { axis: axisName(t, letter) });
    return h("button", { type: "button", class: "button small", "aria-label": name, title: name, "data-action": `step-${letter}${by < 0 ? "-before" : "-after"}`, disabled: by < 0 ? own === 0 : own === size - 1, onclick: () => go(own + by) }, sign);
  };
  return h("div", { class: "pick stepper", role: "group", "aria-label": axisName(t, letter), "data-stepper": letter }, h("span", { class: "soft" }, `${letter}: ${axisName(t, letter)}`), h("span", { class: "stepper-row" }, arrow("\u2039", -1), field, arrow("\u203a", 1)));
}

// What a letter stands for, in words; the letter alone where there are none.
function axisName(t, letter) {
  const key = `value.axis.${letter}`;
  return t(key) === key ? letter : t(key);
}
