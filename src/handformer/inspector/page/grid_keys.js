// The keys of a map: arrows move the cursor, Enter opens its cell, plus and minus enlarge.

const LARGER = 1.6;

// Does what a key stands for; gives whether it was one of the map's.
export function gridKey(heat, event) {
  const far = event.ctrlKey || event.metaKey;
  const moves = moving(heat, far);
  if (event.key in moves) {
    heat.hover = null;
    heat.move(...moves[event.key]);
    return true;
  }
  if (far) {
    return false;
  }
  const others = {
    Enter: () => heat.on.open?.(...heat.cursor),
    "+": () => heat.step(LARGER),
    "=": () => heat.step(LARGER),
    "-": () => heat.step(1 / LARGER),
    0: () => heat.fit(),
  };
  others[event.key]?.();
  return event.key in others;
}

// Where each key moves to; places beyond the edge are brought back by the map.
function moving({ cursor, zoom }, far) {
  const [row, column] = cursor;
  const { top, bottom } = zoom.seen();
  const page = Math.max(1, bottom - top);
  return {
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    Home: [far ? 0 : row, 0],
    End: [far ? zoom.rows - 1 : row, zoom.columns - 1],
    PageUp: [row - page, column],
    PageDown: [row + page, column],
  };
}
