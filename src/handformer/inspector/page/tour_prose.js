// The texts of the examples: names in backquotes as code, the names of other examples as links.

import { h } from "./dom.js";

// A text as a list of nodes.
export function prose(text, tour, example, context) {
  // Only names with a hyphen can't be meant as words.
  const names = Object.keys(tour.examples).filter((name) => name.includes("-") && name !== example?.name);
  const pattern = new RegExp(`\`([^\`]*)\`|(?<![\\w-])(${names.join("|")})(?![\\w-])`, "g");
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(pattern)) {
    const [all, code, name] = found;
    nodes.push(text.slice(end, found.index));
    nodes.push(name ? h("a", { href: context.href("tour", name) }, name) : h("code", {}, code));
    end = found.index + all.length;
  }
  return [...nodes, text.slice(end)];
}
