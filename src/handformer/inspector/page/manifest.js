// A trace: which values there are, what their axes and formulas are, and who stands in whom.

import { explain } from "./engine.js";
import { gradientName, isGradient, join, stem, valueName } from "./names.js";

const GRADIENTS = new Set(["gradient", "weight_gradient"]);
const POSITIONS = new Set(["t", "s", "r", "u"]);
const ENTRIES = new Set(["n", "m"]);
const POSITIONAL = /^(position|type)/; // tables whose rows aren't entries of the vocabulary

export class Trace {
  // `sheets`: lists of formulas, {name, axes, kept, text, body}; `array(path)` gives a Promise of
  // {data, shape, strides} by canonical path.
  constructor(id, manifest, sheets, array) {
    this.id = id;
    this.manifest = manifest;
    this.fetch = array;
    this.sheets = sheets.map((sheet) => new Map(sheet.map((formula) => [formula.name, formula])));
    this.byPath = new Map();
    for (const entry of manifest.values) {
      this.byPath.set(entry.path, entry);
    }
    for (const entry of manifest.values) {
      for (const path of entry.also ?? []) {
        if (!this.byPath.has(path)) {
          this.byPath.set(path, entry);
        }
      }
    }
    this.scopes = new Map(manifest.scopes.map((scope) => [scope.path, scope]));
  }

  // What the manifest says of a value, under any of its paths; undefined where there is none.
  entry(path) {
    return this.byPath.get(path);
  }

  // All values, in the order of the computation.
  get entries() {
    return this.manifest.values;
  }

  // Whether the numbers of a value are in this file.
  has(path) {
    const entry = this.entry(path);
    return entry !== undefined && entry.kept !== false;
  }

  // The numbers of a value, {data, shape, strides}.
  async array(path) {
    const entry = this.entry(path);
    if (!entry) {
      throw new Error(`there is no value ${path} in this trace`);
    }
    if (entry.kept === false) {
      throw new Error(`the numbers of ${entry.path} were left out of this trace`);
    }
    return this.fetch(entry.path);
  }

  // One number.
  async number(path, place) {
    const { data, strides } = await this.array(path);
    return data[place.reduce((at, step, axis) => at + step * strides[axis], 0)];
  }

  // The formula of a value, {name, axes, kept, text, body}; null for what comes from outside.
  formula(path) {
    const entry = this.entry(path);
    if (!entry || entry.scope === null || entry.scope === undefined) {
      return null;
    }
    return this.sheet(entry.scope)?.get(stem(entry.path, entry.scope)) ?? null;
  }

  // The formulas of a scope, by the names that they have in it.
  sheet(scope) {
    const found = this.scopes.get(scope);
    return found === undefined ? undefined : this.sheets[found.sheet];
  }

  // The bare numbers that a scope's formulas mention.
  scalars(scope) {
    return this.scopes.get(scope)?.scalars ?? {};
  }

  // The whole arithmetic of one number: see engine.js.
  explain(path, place, options) {
    return explain(this, path, place, options);
  }

  // The scopes right inside a scope, in the order of the computation.
  children(scope = "") {
    this.tree ??= family(this);
    return this.tree.scopes.get(scope) ?? [];
  }

  // The values right inside a scope, in the order of the manifest: weights, values, gradients.
  values(scope = "") {
    this.tree ??= family(this);
    return this.tree.values.get(scope) ?? [];
  }

  // The scope that a path stands in: of a value the layer, of a layer the one around it.
  parent(path) {
    let at = path;
    while (at !== "") {
      at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : "";
      if (this.scopes.has(at)) {
        return at;
      }
    }
    return null;
  }

  // The path of dL/dz for a value z or a weight, under the name it was asked by first; or null.
  gradientOf(path) {
    const entry = this.entry(path);
    if (!entry || GRADIENTS.has(entry.kind)) {
      return null;
    }
    return this.partner([path, entry.path, ...(entry.also ?? [])].map(gradientName), true);
  }

  // The path of z for its gradient d_z; or null.
  valueOf(path) {
    const entry = this.entry(path);
    if (!entry || !GRADIENTS.has(entry.kind)) {
      return null;
    }
    const names = [path, entry.path, ...(entry.also ?? [])].filter(isGradient);
    return this.partner(names.map(valueName), false);
  }

  // The first of some paths that is there, as a gradient or not.
  partner(paths, gradient) {
    const found = paths
      .map((path) => this.entry(path))
      .find((entry) => entry && GRADIENTS.has(entry.kind) === gradient);
    return found?.path ?? null;
  }

  // What stands at a place of an axis, as text: a token for positions, an entry of the vocabulary;
  // null without a tokenizer. `path` says whose axis it is: a model may read one text and write
  // another, and a trace may hold only some of the positions.
  tokenText(letter, place, row = 0, path = "") {
    if (ENTRIES.has(letter)) {
      return POSITIONAL.test(path) ? null : (this.manifest.vocabulary?.[place] ?? null);
    }
    const { text, positions } = this.manifest;
    if (!text || !POSITIONS.has(letter)) {
      return null;
    }
    const source = this.entry(path)?.source ?? [];
    if (source.includes(letter)) {
      return text.source?.[row]?.[place] ?? null;
    }
    const cut = letter === "t" && positions;
    return text.tokens[row]?.[cut ? positions[place] : place] ?? null;
  }
}

// Who stands in whom. Scopes come in the order in which their first value is computed; one that makes
// none, as a dropout that keeps everything, stands behind what goes through it.
function family(trace) {
  const tree = { scopes: new Map(), values: new Map() };
  const first = new Map();
  for (const [rank, { path, kind }] of trace.entries.entries()) {
    append(tree.values, trace.parent(path), trace.entry(path));
    let scope = kind === "value" ? trace.parent(path) : null;
    while (scope !== null && !first.has(scope)) {
      first.set(scope, rank);
      scope = trace.parent(scope);
    }
  }
  const rank = ({ path }) => {
    const through = trace.entries.indexOf(trace.entry(join(path, "out")));
    return first.get(path) ?? (through < 0 ? Infinity : through + 0.5);
  };
  const ranked = trace.manifest.scopes.map((scope) => [rank(scope), scope]);
  ranked.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
  for (const [, scope] of ranked) {
    if (scope.path !== "") {
      append(tree.scopes, trace.parent(scope.path), scope);
    }
  }
  return tree;
}

export function append(lists, key, item) {
  if (!lists.has(key)) {
    lists.set(key, []);
  }
  lists.get(key).push(item);
}

