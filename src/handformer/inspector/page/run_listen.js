// What a plot of a run listens to: a pointer over it, keys, another theme, another size.

// target  what has the pointer and the focus, a part of element
// on      {point(event), read(place or null), held() -> the place that keys are at, key(event), draw(), resize()}
export function listen(target, element, on, signal) {
  const hear = (name, act) => target.addEventListener(name, act, { signal });
  hear("pointermove", on.point);
  hear("pointerdown", on.point);
  hear("pointerleave", () => on.read(document.activeElement === target ? on.held() : null));
  hear("blur", () => on.read(null));
  hear("keydown", on.key);
  document.addEventListener("themechange", on.draw, { signal });
  const observer = new ResizeObserver(on.resize);
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}
