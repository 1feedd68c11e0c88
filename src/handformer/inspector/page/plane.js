// Two axes of an array: what a heat map shows. The numbers stay where they are; a plane knows where to read.

// The plane of `array` in which the axes `rows` and `columns` run and the others stand at `at`. Either may be null.
export function plane(array, rows, columns, at) {
  const { data, shape, strides } = array;
  let start = 0;
  shape.forEach((size, axis) => {
    if (axis !== rows && axis !== columns) {
      start += Math.min(at[axis] ?? 0, Math.max(size - 1, 0)) * strides[axis];
    }
  });
  return {
    data,
    start,
    rows: rows === null ? 1 : shape[rows],
    columns: columns === null ? 1 : shape[columns],
    rowStep: rows === null ? 0 : strides[rows],
    columnStep: columns === null ? 0 : strides[columns],
  };
}

// The number at one place of a plane.
export function read(plane, row, column) {
  return plane.data[plane.start + row * plane.rowStep + column * plane.columnStep];
}

// The mask of a layer, laid under a plane of `entry`: 1 where a query may see a key; null where it doesn't fit.
// An axis that the mask hasn't, or has only once, is the same for all.
export function maskPlane(mask, maskAxes, entry, rows, columns, at) {
  const step = (axis) => {
    if (axis === null) {
      return 0;
    }
    const own = maskAxes.indexOf(entry.axes[axis]);
    return own < 0 || mask.shape[own] === 1 ? 0 : mask.strides[own];
  };
  let start = 0;
  for (const [own, letter] of maskAxes.entries()) {
    const axis = entry.axes.indexOf(letter);
    if (axis < 0) {
      if (mask.shape[own] !== 1) {
        return null;
      }
    } else if (mask.shape[own] !== 1) {
      if (mask.shape[own] !== entry.shape[axis]) {
        return null;
      }
      if (axis !== rows && axis !== columns) {
        start += (at[axis] ?? 0) * mask.strides[own];
      }
    }
  }
  return {
    data: mask.data,
    start,
    rows: rows === null ? 1 : entry.shape[rows],
    columns: columns === null ? 1 : entry.shape[columns],
    rowStep: step(rows),
    columnStep: step(columns),
  };
}

// Whether a mask hides anything of a plane.
export function hides(mask) {
  for (let row = 0; row < mask.rows; row += 1) {
    for (let column = 0; column < mask.columns; column += 1) {
      if (read(mask, row, column) === 0) {
        return true;
      }
    }
  }
  return false;
}

// Which axes are laid out how, unless the address says otherwise: { rows, columns, many }, numbers of axes or null.
export function layout(axes, shape, wish = {}) {
  const free = axes.map((_, axis) => axis);
  const named = (letter) => {
    const axis = letter ? axes.indexOf(letter) : -1;
    return axis < 0 || !free.includes(axis) ? null : free.splice(free.indexOf(axis), 1)[0];
  };
  let columns = named(wish.columns);
  let rows = named(wish.rows);
  let many = wish.many === "-" ? null : named(wish.many);
  if (columns === null && free.length) {
    columns = free.pop();
  }
  if (rows === null && free.length) {
    // Batch and layer are stepped through; heads stand side by side, unless nothing else is left.
    const last = free.findLast((axis) => !"bhgl".includes(axes[axis]));
    const next = last ?? free.findLast((axis) => axes[axis] !== "b") ?? free.at(-1);
    rows = free.splice(free.indexOf(next), 1)[0];
  }
  if (many === null && wish.many !== "-") {
    many = free.findLast((axis) => "hgl".includes(axes[axis]) && shape[axis] > 1) ?? null;
  }
  return { rows, columns, many };
}
