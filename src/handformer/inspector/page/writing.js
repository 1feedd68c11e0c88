// One writing on the server, and all of its steps that have been seen.

const SETTINGS = ["text", "temperature", "top_k", "top_p", "seed"];

export class Writing {
  constructor(source, question, { session, prompt, begin }) {
    Object.assign(this, { source, question, session, prompt, begin, steps: [], ended: false });
    this.last = { at: -1, lengths: null }; // the keys that were put together last: others go on from there
  }

  static async begin(source, question) {
    return new Writing(source, question, await source.ask("generate", question));
  }

  // One token more, unless the text has ended.
  async next() {
    const step = await this.source.ask(`generate/${encodeURIComponent(this.session)}`);
    this.ended = step.ended;
    if (step.token) {
      this.steps.push(step);
    }
  }

  // Whether this is what was asked for, number by number.
  asks(question) {
    return SETTINGS.every((name) => this.question[name] === question[name]);
  }

  // Whether an address tells of this writing, or of none.
  fits(query) {
    if (!query.steps) {
      return true;
    }
    const given = (name) => (name === "text" ? (query.text ?? "") : query[name] === undefined ? null : Number(query[name]));
    return SETTINGS.every((name) => this.question[name] === given(name)) && Number(query.steps) <= this.steps.length;
  }

  // What an address has to say, so that another visit sees the same.
  get address() {
    const settings = SETTINGS.map((name) => [name, this.question[name] === null ? null : String(this.question[name])]);
    return { ...Object.fromEntries(settings), steps: String(this.steps.length) };
  }

  // What the model keeps after a step: its sizes, and of each layer and head the lengths of all keys. Each step
  // tells only of the new ones, from `first` on.
  kept(at) {
    const { cache } = this.steps[at];
    const known = this.last.at <= at ? this.last : { at: -1, lengths: null };
    let { lengths } = known;
    for (const { cache: told } of this.steps.slice(known.at + 1, at + 1)) {
      const before = lengths;
      lengths = told.lengths.map((heads, layer) =>
        heads.map((fresh, head) => [...(before?.[layer][head].slice(0, told.first) ?? []), ...fresh]),
      );
    }
    this.last = { at, lengths };
    return { ...cache, lengths };
  }

  // The texts of the tokens whose keys are kept after a step; the token that was drawn last hasn't been read yet.
  read(at) {
    const written = this.steps.slice(0, at).map(({ token }) => token.text);
    const { tokens } = this.steps[at].cache;
    const all = [...this.begin.map(({ text }) => text), ...written];
    return tokens <= all.length ? all.slice(all.length - tokens) : null;
  }
}
