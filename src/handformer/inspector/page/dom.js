// Makes elements. Data only ever becomes text or an attribute, never markup.

// h("button", { class: "quiet", onclick: go, "aria-label": "Back" }, "back", icon)
//
// Attributes: a function under `on...` listens; `dataset` and `style` take objects; true stands for
// an attribute without a value; null, undefined and false leave one out. Children: elements, texts,
// numbers, lists of them; null, undefined and false are no child.
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    set(element, name, value);
  }
  return put(element, ...children);
}

// The same in SVG: s("path", { d: "M 0 0" }).
export function s(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    set(element, name, value);
  }
  return put(element, ...children);
}

// Appends children, and returns the element.
export function put(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      element.append(child instanceof Node ? child : String(child));
    }
  }
  return element;
}

// Empties an element and gives it other children.
export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) {
    return;
  }
  if (name.startsWith("on") && typeof value === "function") {
    element.addEventListener(name.slice(2), value);
  } else if (name === "style" && typeof value === "object") {
    for (const [property, given] of Object.entries(value)) {
      element.style.setProperty(property, given);
    }
  } else if (name === "dataset") {
    Object.assign(element.dataset, value);
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}
