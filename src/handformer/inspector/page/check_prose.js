// Texts of a check, which hold names of somebody's file.

import { h } from "./dom.js";

// A name of somebody's file: what can't be seen, or would turn the line around, is written out.
export function visible(name) {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
}

// A sentence in which names stand in backquotes: those of values that were compared become links.
export function prose(context, checked, words) {
  return words.split("`").map((part, at) => {
    if (at % 2 === 0) {
      return part;
    }
    const known = checked.value(part);
    return known ? h("a", { class: "mono", href: context.href("check", part) }, part) : h("code", { class: "mono" }, part);
  });
}
