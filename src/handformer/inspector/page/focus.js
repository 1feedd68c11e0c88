// A view that is built anew gives the focus back to what had it.

const NAMES = ["data-action", "data-side", "data-show", "data-layout", "data-many", "data-heat"];

// A selector of the focused element inside `root`, by what names it; null where there is none.
export function focusIn(root) {
  const active = document.activeElement;
  if (!root.contains(active)) {
    return null;
  }
  const name = NAMES.find((one) => active.hasAttribute(one));
  const tag = name === "data-heat" ? "[tabindex]" : "";
  return name ? `[${name}="${CSS.escape(active.getAttribute(name))}"]${tag}` : null;
}
