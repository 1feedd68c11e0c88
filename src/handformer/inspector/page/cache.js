// What was read lately, up to so many bytes; what was used longest ago goes first.

export class Cache {
  constructor(limit) {
    this.limit = limit;
    this.size = 0;
    this.kept = new Map(); // its order is that of the last use
  }

  // What stands under the key, or what `make` gives for it. Two that ask at once share one answer;
  // a failure isn't kept.
  async get(key, bytes, make) {
    const found = this.kept.get(key);
    if (found) {
      this.kept.delete(key);
      this.kept.set(key, found);
      return found.promise;
    }
    const entry = { bytes, promise: make() };
    this.kept.set(key, entry);
    this.size += bytes;
    this.shrink();
    try {
      return await entry.promise;
    } catch (error) {
      this.drop(key, entry);
      throw error;
    }
  }

  shrink() {
    for (const [key, entry] of this.kept) {
      if (this.size <= this.limit || this.kept.size === 1) {
        return;
      }
      this.drop(key, entry);
    }
  }

  drop(key, entry) {
    if (this.kept.get(key) === entry) {
      this.kept.delete(key);
      this.size -= entry.bytes;
    }
  }
}
