// The mistakes that reproduce a value: what was done, the cure, and the formula with the mistake in it.

import { prose } from "./check_prose.js";
import { h } from "./dom.js";
import { formulaMath } from "./math.js";
import { mathWords } from "./value_words.js";

export function causes(context, checked, value) {
  const { t } = context;
  if (!value.causes.length) {
    return unknown(context, checked, value);
  }
  const several = value.causes.length > 1 ? h("p", { class: "soft" }, t("check.several", { count: value.causes.length })) : null;
  return h("div", { class: "check-causes" }, several, value.causes.map((cause) => one(context, checked, value, cause)));
}

// What can be said where no known mistake fits.
function unknown(context, checked, { status, hints }) {
  const { t } = context;
  const said = hints.map((words) => h("li", { lang: "en", "data-hint": "" }, prose(context, checked, words)));
  const nobody = status === "wrong" ? h("p", null, t(hints.length ? "check.but" : "check.nobody")) : null;
  return nobody || said.length ? h("div", { class: "check-causes panel" }, nobody, said.length ? h("ul", null, said) : null) : null;
}

function one(context, checked, value, cause) {
  const { t, trace } = context;
  const at = cause.at === value.path ? null : h("p", { class: "soft" }, t("check.at"), " ", h("a", { class: "mono", href: context.href("check", cause.at) }, cause.at));
  const link = /^https:\/\//.test(cause.link) ? h("a", { class: "check-id", href: cause.link, rel: "noreferrer" }, cause.id) : h("span", { class: "check-id" }, cause.id);
  const scope = trace.entry(cause.at)?.scope;
  const right = cause.tree && typeof scope === "string" ? trace.sheet(scope)?.get(cause.tree.name) : null;
  return h(
    "section",
    { class: "check-cause panel", "data-cause": cause.id, "aria-label": cause.id },
    h("p", { lang: "en" }, link, " ", prose(context, checked, cause.wrong)),
    h("p", { lang: "en" }, prose(context, checked, cause.cure)),
    at,
    h("dl", { class: "check-formulas" }, side(t, "rightly", right, cause.right), side(t, "theirs", cause.tree, cause.formula)),
  );
}

// A formula on a line that scrolls by itself; as text where it can't be typeset.
function side(t, key, formula, text) {
  if (!formula && !text) {
    return null;
  }
  const shown = formula ? formulaMath(formula, { words: mathWords(t) }) : h("code", { class: "mono" }, text);
  const said = { tabindex: "0", role: "group", "aria-label": t(`check.formula.${key}`) };
  return h("div", { class: "check-formula", "data-formula": key }, h("dt", null, t(`check.${key}`)), h("dd", { class: "scroll-x value-formula", ...said }, shown));
}
