// What the model expected at each place: the likeliest entries, and the chance and rank of one.

const BEST = 5;
const LARGE = 128 * 2 ** 20; // bytes of probabilities that are read for it; beyond, the lens tells enough

export class Guesses {
  // From all probabilities where they are there and not too many; else from the last layer of the
  // lens; null where there is neither.
  static async of(trace) {
    const entry = trace.entry("loss.probs");
    const bytes = entry ? entry.shape.reduce((product, size) => product * size, 8) : Infinity;
    if (trace.has("loss.probs") && bytes <= LARGE) {
      return new Guesses(await trace.array("loss.probs"));
    }
    if (!["lens.tokens", "lens.probs", "lens.target"].every((path) => trace.has(path))) {
      return null;
    }
    const [tokens, probs, target] = await Promise.all(
      ["lens.tokens", "lens.probs", "lens.target"].map((path) => trace.array(path)),
    );
    return new Last(tokens, probs, target);
  }

  constructor({ data, shape }) {
    Object.assign(this, { data, count: shape[1], entries: shape[2] });
  }

  // {best: [{id, chance}, ...], chance, rank, path}: of the target where there is one.
  at(row, place, target) {
    const begin = (row * this.count + place) * this.entries;
    const chances = this.data.subarray(begin, begin + this.entries);
    const best = [];
    const aim = target === null ? NaN : chances[target];
    let rank = 0;
    for (let id = 0; id < chances.length; id += 1) {
      const chance = chances[id];
      rank += chance >= aim;
      if (best.length < BEST || chance > best.at(-1).chance) {
        best.push({ id, chance });
        best.sort((one, other) => other.chance - one.chance);
        best.length = Math.min(best.length, BEST);
      }
    }
    return {
      best,
      chance: target === null ? undefined : aim,
      rank: target === null ? null : rank,
      path: "loss.probs",
    };
  }
}

class Last {
  constructor(tokens, probs, target) {
    Object.assign(this, { tokens, probs, target });
  }

  at(row, place, target) {
    const [layers, rows, count, many] = this.tokens.shape;
    const at = ((layers - 1) * rows + row) * count + place;
    const best = Array.from({ length: many }, (_, k) => ({
      id: this.tokens.data[at * many + k],
      chance: this.probs.data[at * many + k],
    }));
    const rank = best.findIndex(({ id }) => id === target) + 1;
    return {
      best,
      chance: target === null ? undefined : this.target.data[at],
      rank: rank || null,
      path: null,
    };
  }
}
