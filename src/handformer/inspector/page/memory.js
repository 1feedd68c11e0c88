// What the browser keeps of a choice from visit to visit; in some places it may keep nothing.

export function remember(key, text) {
  try {
    localStorage.setItem(`handformer.${key}`, text);
  } catch {
    // it is forgotten, then
  }
}

export function recall(key) {
  try {
    return localStorage.getItem(`handformer.${key}`);
  } catch {
    return null;
  }
}
