// Where the page's data come from: a server beside it, or the page itself when it is a single file.
//
// Both give the same: about, traces, trace(id), tour(language), log(), check(); and a server also run(text).

import { Cache } from "./cache.js";
import { Trace } from "./manifest.js";
import { decode, fromBase64 } from "./tensors.js";

const LIMIT = 512 * 2 ** 20; // bytes of arrays that are kept

// Opens the source that this page belongs to.
export async function openSource() {
  const boot = document.getElementById("boot");
  if (boot) {
    const held = new Held(JSON.parse(boot.textContent));
    return new Source(held, held.boot.about, held.list());
  }
  const server = new Server();
  const [about, traces] = await Promise.all([server.get("about"), server.get("traces")]);
  return new Source(server, about, traces);
}

export class Source {
  constructor(origin, about, traces) {
    this.origin = origin;
    this.about = about;
    this.traces = traces;
    this.cache = new Cache(LIMIT);
    this.opened = new Map();
  }

  // A trace by its id (a Promise); asked for twice, it is the same one.
  trace(id) {
    const key = String(id);
    if (!this.opened.has(key)) {
      const opening = this.open(key);
      this.opened.set(key, opening);
      opening.catch(() => this.opened.delete(key));
    }
    return this.opened.get(key);
  }

  async open(id) {
    const told = await this.origin.trace(id);
    const array = (path) => {
      const tensor = told.tensors[path];
      const [begin, end] = tensor.offsets;
      return this.cache.get(`${id} ${path}`, end - begin, async () => {
        const buffer = await this.origin.bytes(id, told, begin, end);
        return decode(tensor, buffer);
      });
    };
    return new Trace(id, told.manifest, told.sheets, array);
  }

  // The steps of the worked examples in a language.
  tour(language) {
    return this.origin.tour(language);
  }

  // The lines of a run's log.
  log() {
    return this.origin.log();
  }

  // What a check found; null where the page shows none.
  check() {
    return this.origin.check();
  }

  // Runs a text (and targets, or null) through the served model; gives the new trace's id.
  async run(text, targets = null) {
    const { id } = await this.ask("run", { text, targets });
    this.traces = await this.origin.get("traces");
    return id;
  }

  // Asks the server for something that only a server can do: POST /api/<path>.
  ask(path, question = {}) {
    return this.origin.post(path, question);
  }
}

// What the single file holds.
class Held {
  constructor(boot) {
    this.boot = boot;
  }

  list() {
    return this.boot.traces.map(({ id, title }) => ({ id: String(id), title }));
  }

  async trace(id) {
    const told = this.boot.traces.find((trace) => String(trace.id) === id);
    if (!told) {
      throw new Error(`there is no trace ${id} in this file`);
    }
    return told;
  }

  async bytes(id, told, begin, end) {
    const start = told.data_start ?? 0;
    return fromBase64(told.data, start + begin, start + end);
  }

  async tour(language) {
    return this.boot.tour?.[language] ?? null;
  }

  async log() {
    return this.boot.log ?? null;
  }

  async check() {
    return this.boot.check ?? null;
  }

  async get(path) {
    return this.post(path);
  }

  async post(path) {
    throw new Error(`this page is a file: ${path} needs \`handformer inspect\``);
  }
}

class Server {
  get(path) {
    return answer(fetch(`api/${path}`));
  }

  post(path, question) {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify(question);
    return answer(fetch(`api/${path}`, { method: "POST", headers, body }));
  }

  trace(id) {
    return this.get(`traces/${encodeURIComponent(id)}`);
  }

  async bytes(id, told, begin, end) {
    if (begin === end) {
      return new ArrayBuffer(0);
    }
    const first = told.data_start + begin;
    const headers = { Range: `bytes=${first}-${told.data_start + end - 1}` };
    const reply = await fetch(`api/traces/${encodeURIComponent(id)}/data`, { headers });
    if (reply.status !== 206) {
      throw new Error(await reason(reply));
    }
    return reply.arrayBuffer();
  }

  tour(language) {
    return this.get(`tour?lang=${encodeURIComponent(language)}`);
  }

  log() {
    return this.get("log");
  }

  async check() {
    return null; // checks are files
  }
}

async function answer(asked) {
  const reply = await asked;
  if (!reply.ok) {
    throw new Error(await reason(reply));
  }
  return reply.json();
}

// What the server says is wrong, in its own words where it has some.
async function reason(reply) {
  const text = await reply.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text || `the server answers ${reply.status}`;
  }
}
