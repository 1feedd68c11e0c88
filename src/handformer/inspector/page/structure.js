// The model as streams and what branches off them, read from the manifest and the formulas.
//
// A *unit* is a layer right inside another one. The residual stream is followed from value to value:
// where a formula adds it to something else, that something is a branch, traced back through its
// units to where it left the stream; where a unit reads it and nothing adds it again, the unit stands
// on the stream itself. So pre-norm, post-norm and cross-attention need no words of their own here.

import { append } from "./manifest.js";
import { join } from "./names.js";

const MAIN = ["x", "logits"]; // what a unit calls the value that it works on
const NUMBERED = /\.\d+$/;

// {columns: [[step, ...], ...], rest: [unit, ...]}: the columns in the order of the computation, and
// the units that stand in none of them. Steps: {kind: "sources", units}, {kind: "stream", path},
// {kind: "branch", units}, {kind: "unit", unit}, {kind: "block", unit, steps}.
export function structure(trace) {
  return new Reader(trace).read();
}

class Reader {
  constructor(trace) {
    this.trace = trace;
    this.placed = new Set();
    this.units = new Map(); // scope -> its units
    this.inputs = new Map(); // unit's path -> {main, others}
    this.sums = new Map(); // scope -> [{target, terms}]
    for (const { path } of trace.manifest.scopes) {
      this.inputs.set(path, { main: null, others: [] });
    }
    for (const entry of trace.entries) {
      if (entry.kind === "value" || entry.kind === "input") {
        this.enter(entry);
      }
    }
  }

  // Notes of one value who reads it, and whether it is a sum.
  enter(entry) {
    for (const name of [entry.path, ...(entry.also ?? [])]) {
      const unit = this.trace.parent(name);
      const read = this.inputs.get(unit);
      if (!read || entry.scope === unit) {
        continue;
      }
      const word = name.slice(name.lastIndexOf(".") + 1);
      if (MAIN.includes(word)) {
        read.main ??= entry.path;
      } else if (
        entry.dtype.startsWith("float") &&
        word !== "out" &&
        !read.others.includes(entry.path)
      ) {
        read.others.push(entry.path);
      }
    }
    const names = terms(this.trace.formula(entry.path));
    if (names) {
      const found = names.map((name) => this.trace.entry(join(entry.scope, name))?.path);
      append(this.sums, entry.scope, { target: entry.path, terms: found.filter(Boolean) });
    }
  }

  read() {
    const sources = this.unitsOf("").filter((unit) => unit.main === null && unit.out !== null);
    const columns = [];
    for (const start of this.starts(sources)) {
      const steps = this.follow(start.path, "");
      columns.push([
        ...(start.units.length ? [{ kind: "sources", units: start.units }] : []),
        ...steps,
      ]);
    }
    if (!columns.length && this.trace.entry("x")) {
      columns.push(this.follow(this.trace.entry("x").path, ""));
    }
    // What hands on its input as it is, like dropout that drops nothing, is no part of the picture.
    const drawn = columns.filter((steps) => steps.length > 1);
    const rest = this.unitsOf("").filter(
      (unit) => !this.placed.has(unit.path) && unit.out !== null && unit.out !== unit.main,
    );
    if (!drawn.length && !rest.length) {
      rest.push(this.unit(this.trace.scopes.get("") ?? { path: "", layer: "" }));
    }
    return { columns: drawn, rest };
  }

  // Where the streams begin: the sums of what comes from tables, or one table's rows alone.
  starts(sources) {
    const found = new Map();
    for (const unit of sources) {
      const sum = (this.sums.get("") ?? []).find(({ terms }) => terms.includes(unit.out));
      const path = sum?.target ?? unit.out;
      if (!found.has(path)) {
        found.set(path, { path, units: [] });
      }
      found.get(path).units.push(unit);
      found.get(path).order = sum?.terms ?? [];
      found.get(path).units.push(...this.strays(sum?.terms ?? [], found.get(path).units));
      this.placed.add(unit.path);
    }
    for (const { units, order } of found.values()) {
      units.sort((one, other) => order.indexOf(one.out) - order.indexOf(other.out));
    }
    return [...found.values()];
  }

  // What the model itself looks up for a sum, as in a table that both of its sides share: the unit that
  // it would be if it had a table of its own.
  strays(terms, units) {
    const paths = terms.filter((path) => this.trace.entry(path).scope === "" && path.includes("."));
    return paths
      .filter((path) => !units.some((unit) => unit.out === path))
      .map((out) => {
        const path = out.slice(0, out.lastIndexOf("."));
        return {
          path,
          class: "Embedding",
          main: null,
          others: [],
          out,
          back: this.trace.entry(join(path, "d_table"))?.path ?? null,
        };
      });
  }

  // The steps from a value on, inside a scope.
  follow(from, scope) {
    const steps = [{ kind: "stream", path: from }];
    const used = new Set();
    let value = from;
    for (;;) {
      const sum = (this.sums.get(scope) ?? []).find(
        (one) => !used.has(one.target) && one.target !== value && one.terms.includes(value),
      );
      if (sum) {
        used.add(sum.target);
        const units = sum.terms
          .filter((term) => term !== value)
          .flatMap((term) => this.back(term, value));
        steps.push({ kind: "branch", units });
        value = sum.target;
      } else {
        const unit = this.unitsOf(scope).find(
          (one) =>
            one.main === value &&
            one.out !== value &&
            one.out !== null &&
            !this.placed.has(one.path),
        );
        if (!unit) {
          return steps;
        }
        this.placed.add(unit.path);
        steps.push(NUMBERED.test(unit.path) ? this.block(unit) : { kind: "unit", unit });
        value = unit.out;
      }
      steps.push({ kind: "stream", path: value });
    }
  }

  block(unit) {
    return { kind: "block", unit, steps: this.follow(unit.main, unit.path) };
  }

  // The units that a value went through since it left the stream.
  back(value, stream) {
    const units = [];
    let at = value;
    while (at && at !== stream) {
      const scope = this.trace.entry(at).scope;
      const found = scope ? this.trace.scopes.get(scope) : null;
      if (!found || this.placed.has(scope)) {
        break;
      }
      this.placed.add(scope);
      const unit = this.unit(found);
      units.unshift(unit);
      at = unit.main;
    }
    return units;
  }

  unitsOf(scope) {
    if (!this.units.has(scope)) {
      this.units.set(
        scope,
        this.trace.children(scope).map((found) => this.unit(found)),
      );
    }
    return this.units.get(scope);
  }

  // {path, class, main, others, out, back}: what a layer reads, and what it gives forward and backward.
  unit({ path, layer: kind }) {
    const { main, others } = this.inputs.get(path) ?? { main: null, others: [] };
    const own = this.inside(path);
    const last = (kinds) => own.findLast((entry) => kinds.includes(entry.kind))?.path ?? null;
    const out = this.trace.entry(join(path, "out"))?.path ?? last(["value"]);
    const back = this.trace.entry(join(path, "d_x")) ?? this.trace.entry(join(path, "d_table"));
    return {
      path,
      class: kind,
      main,
      others,
      out,
      back: back?.path ?? last(["gradient"]) ?? last(["weight_gradient"]),
    };
  }

  // A layer's own values, those of layers inside it too.
  inside(path) {
    return [
      ...this.trace.values(path),
      ...this.trace.children(path).flatMap((child) => this.inside(child.path)),
    ];
  }
}

// The names that a formula adds up, if it does nothing else; null otherwise.
export function terms(formula) {
  const names = formula ? gather(formula.body) : null;
  return names && names.length > 1 ? names : null;
}

function gather(node) {
  if (node[0] === "entry") {
    return [node[1]];
  }
  if (node[0] !== "op" || node[1] !== "+") {
    return null;
  }
  const [left, right] = [gather(node[2]), gather(node[3])];
  return left && right ? [...left, ...right] : null;
}
