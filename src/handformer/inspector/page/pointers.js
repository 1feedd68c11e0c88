// Mouse, pen and fingers over a map: hover, tap, drag to move, two fingers or the wheel to enlarge.

const SLACK = 5; // pixels that a tap may slip

// `on`: {hover(x, y) or hover(null), tap(x, y), pan(dx, dy), zoom(factor, x, y)}; coordinates are those of the element.
export function listen(element, on, signal) {
  const down = new Map();
  let moved = false;
  const options = { signal };

  const centre = () => {
    const all = [...down.values()];
    const sum = all.reduce(([x, y], point) => [x + point.x, y + point.y], [0, 0]);
    return { x: sum[0] / all.length, y: sum[1] / all.length };
  };
  const spread = () => {
    const [one, other] = [...down.values()];
    return other ? Math.hypot(one.x - other.x, one.y - other.y) : 0;
  };

  element.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) {
        return;
      }
      if (!down.size) {
        moved = false;
      }
      const { offsetX: x, offsetY: y } = event;
      down.set(event.pointerId, { x, y, firstX: x, firstY: y });
      element.setPointerCapture(event.pointerId);
    },
    options,
  );

  element.addEventListener(
    "pointermove",
    (event) => {
      const { offsetX: x, offsetY: y } = event;
      const point = down.get(event.pointerId);
      if (!point) {
        on.hover(x, y);
        return;
      }
      if (!moved && down.size === 1 && Math.hypot(x - point.firstX, y - point.firstY) < SLACK) {
        return;
      }
      moved = true;
      const [before, apart] = [centre(), spread()];
      Object.assign(point, { x, y });
      const after = centre();
      on.pan(after.x - before.x, after.y - before.y);
      if (apart > 8 && spread() > 8) {
        on.zoom(spread() / apart, after.x, after.y);
      }
    },
    options,
  );

  const up = (event) => {
    const point = down.get(event.pointerId);
    down.delete(event.pointerId);
    if (point && !moved && event.type === "pointerup") {
      on.tap(point.x, point.y);
    }
  };
  element.addEventListener("pointerup", up, options);
  element.addEventListener("pointercancel", up, options);
  element.addEventListener("pointerleave", () => on.hover(null), options);

  // The wheel belongs to the page, unless the map has the focus or a key is held with it.
  element.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || event.metaKey || element.contains(document.activeElement)) {
        const lines = event.deltaMode === 1 ? 30 : 1;
        if (on.zoom(Math.exp(-event.deltaY * lines * 0.0022), event.offsetX, event.offsetY)) {
          event.preventDefault();
        }
      }
    },
    { signal, passive: false },
  );
}
