// The table of tokens: a row for each place, with what was expected, what came, and what it cost.

import { h } from "./dom.js";
import { percent, short, whole } from "./number.js";
import { t } from "./words.js";

const SHOWN = 3; // guesses for each token

// The table of a view, which says what stands at its places.
export function tokenTable(view) {
  const names = ["place", "token", "target", "chance", "loss", "pull", "rank", "guesses"];
  const heads = names.filter((name) => name !== "pull" || view.pulls);
  const head = (name) =>
    h(
      "th",
      { scope: "col", class: `is-${name}`, title: t(`tokens.about.${name}`) },
      t(`tokens.${name}`),
    );
  const table = h(
    "table",
    { class: "table tokens-table", "data-table": "tokens" },
    h("thead", {}, h("tr", {}, heads.map(head))),
    h(
      "tbody",
      {},
      view.places.map((place, number) => line(view, place, number)),
    ),
  );
  return h(
    "div",
    { class: "scroll-x", tabindex: "0", role: "region", "aria-label": t("tokens.title") },
    table,
  );
}

function line(view, place, number) {
  const { row, pulls } = view;
  const target = view.target(place);
  const guess = view.guesses?.at(row, place, target);
  const cells = [
    cell("token", word(view.token(place))),
    cell(
      "target",
      target === null
        ? h("span", { class: "faint" }, t("tokens.ignored"))
        : word(view.word(target)),
    ),
    chance(view, place, target, guess),
    target === null ? cell("loss", "–") : loss(view, place),
    pulls && measure(view, "pull", pulls.path, [row, place, 0], pulls.norms[number], pulls.most),
    cell("rank", h("span", { class: "number" }, (target !== null && guess?.rank) || "–")),
    cell("guesses", guess ? guesses(view, guess.best, target) : "–"),
  ];
  const head = h("th", { scope: "row", class: "is-place number faint" }, place);
  return h("tr", { "data-place": place, class: target === null ? "ignored" : null }, head, cells);
}

function cell(name, inside) {
  return h("td", { class: `is-${name}` }, inside);
}

function word(text) {
  return h("span", { class: "token" }, text);
}

// What the target got. The lens knows its chance too, but no place where it stands by itself.
function chance(view, place, target, guess) {
  if (target === null || guess?.chance === undefined) {
    return cell("chance", "–");
  }
  const at = guess.path ? [view.row, place, target] : [view.row, place];
  return measure(view, "chance", guess.path ?? "loss.losses", at, guess.chance, 1, percent);
}

function loss(view, place) {
  return measure(
    view,
    "loss",
    "loss.losses",
    [view.row, place],
    view.at(view.losses, place),
    view.most,
  );
}

// A number with a bar, which leads to where it stands.
function measure({ context }, name, path, at, x, most, say = (number) => short(number, 3)) {
  const bar = h("i", { style: { width: `${(100 * x) / most}%` } });
  const href = context.href("value", path, { at: at.join(",") });
  return cell(
    name,
    h(
      "a",
      { class: "measure", href, title: whole(x), "data-stat": name },
      h("span", { class: "amount", "aria-hidden": "true" }, bar),
      h("span", { class: "number" }, say(x)),
    ),
  );
}

function guesses(view, best, target) {
  const one = ({ id, chance: part }) =>
    h(
      "li",
      { class: id === target ? "hit" : null, title: `${id}: ${whole(part)}` },
      word(view.word(id)),
      h("span", { class: "number soft" }, percent(part)),
    );
  return h("ol", { class: "guesses" }, best.slice(0, SHOWN).map(one));
}
