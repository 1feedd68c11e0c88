// A served model at work: a text runs through it and becomes a trace, or it writes on, token by token. For
// each token: what the model said, what temperature, top-k and top-p left of it, and what it keeps in memory.

import { Memory } from "./keys_kept.js";
import { Writing } from "./writing.js";
import { distribution } from "./distribution.js";
import { fill, h } from "./dom.js";
import { register, t } from "./words.js";
import { WORDS } from "./generate_words.js";
import { tokenLabel } from "./token_text.js";

register(WORDS);

const SEVERAL = 10;
const writings = new WeakMap(); // of each source the writing that is under way, whatever view is open

export async function render(root, route, context) {
  const { source } = context;
  const { can = {} } = source.about;
  const title = h("h1", { class: "title" }, t("generate.title"));
  if (!can.run && !can.generate) {
    root.append(title, h("p", {}, t("generate.offline")), h("pre", { class: "code mono" }, "handformer inspect MODEL"));
    return;
  }
  const desk = new Desk(context, route, writings.get(source));
  root.append(title, desk.element);
  await desk.begin(route);
}

// The address follows what is done here; only another text or other settings begin anew.
export function update(root, route, context) {
  const writing = writings.get(context.source);
  return Boolean(writing) && writing.fits(route.query);
}

class Desk {
  constructor(context, { query }, writing) {
    this.context = context;
    this.about = context.source.about;
    this.writing = writing ?? null;
    const asked = writing?.question ?? {};
    const value = (name, usual) => query[name] ?? asked[name] ?? usual;
    this.text = h("textarea", { class: "field", id: "generate-text", name: "text", rows: 2, spellcheck: "false", dir: "auto" });
    this.text.value = value("text", "");
    this.targets = h("input", { class: "field", id: "generate-targets", name: "targets", type: "text", dir: "auto", placeholder: t("generate.targets.none") });
    this.fields = {
      temperature: number("temperature", value("temperature", "0.8"), { min: 0, step: "any", required: true }),
      top_k: number("top_k", value("top_k", ""), { min: 1, step: 1, placeholder: t("generate.all") }),
      top_p: number("top_p", value("top_p", ""), { min: 0, max: 1, step: "any", placeholder: "1" }),
      seed: number("seed", value("seed", "0"), { min: 0, step: 1, required: true }),
    };
    this.note = h("p", { class: "error", role: "alert", hidden: true });
    this.shown = h("div", { class: "generate-shown" });
    this.element = h("div", { class: "generate" }, this.form(), this.note, this.shown);
  }

  form() {
    const { can, family } = this.about;
    const two = family === "transformer";
    const run = button("run", () => this.run(), { class: can.generate ? "button" : "button primary" });
    const next = button("next", () => this.next(1), { class: "button primary", type: "submit" });
    const several = button("several", () => this.next(SEVERAL), {}, { count: SEVERAL });
    const anew = button("anew", () => this.anew());
    const submit = (event) => {
      event.preventDefault();
      (can.generate ? next : run).click();
    };
    const keys = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit(event);
    this.buttons = [run, next, several, anew];
    next.type = "button"; // its click is what a submit asks for
    return h(
      "form",
      { class: "generate-form", onsubmit: submit },
      h("label", { for: "generate-text" }, t(two ? "generate.source" : "generate.text")),
      h("div", { onkeydown: keys }, this.text),
      two && [h("label", { for: "generate-targets" }, t("generate.targets")), this.targets],
      h("div", { class: "generate-actions" }, run, h("span", { class: "soft" }, t("generate.run.about"))),
      can.generate && this.settings(),
      can.generate && h("div", { class: "generate-actions" }, next, several, anew),
    );
  }

  settings() {
    const one = ([name, field]) => h("label", { title: t(`generate.${name}.about`) }, h("span", {}, t(`generate.${name}`)), field);
    return h("fieldset", { class: "generate-settings" }, h("legend", {}, t("generate.settings")), Object.entries(this.fields).map(one));
  }

  // What the address or an earlier visit says is shown again: the same seed gives the same tokens.
  async begin({ query }) {
    if (this.writing?.fits(query)) {
      this.show();
    } else if (query.text && this.about.can.generate && Number(query.steps) > 0) {
      await this.next(Math.min(Number(query.steps), 500), true);
    }
  }

  async run() {
    await this.busy("generate.running", async () => {
      const id = await this.context.source.run(this.text.value, this.targets.value || null);
      this.context.announce(t("generate.ran"));
      this.context.go({ view: "", query: { t: id } });
    });
  }

  async next(count, replay = false) {
    await this.busy("generate.writing", async () => {
      const question = this.question();
      if (!this.writing?.asks(question) || replay) {
        this.writing = await Writing.begin(this.context.source, question);
        writings.set(this.context.source, this.writing);
      }
      for (let step = 0; step < count && !this.writing.ended && !this.context.signal.aborted; step += 1) {
        await this.writing.next();
        this.show();
      }
    });
  }

  anew() {
    this.writing = null;
    writings.delete(this.context.source);
    fill(this.shown);
    this.context.change({ text: null, temperature: null, top_k: null, top_p: null, seed: null, steps: null, at: null });
    this.text.focus();
  }

  question() {
    for (const field of Object.values(this.fields)) {
      if (!field.checkValidity()) {
        field.focus();
        throw new Error(`${t(`generate.${field.name}`)}: ${field.validationMessage}`);
      }
    }
    const given = ({ value }) => (value === "" ? null : Number(value));
    const { temperature, top_k, top_p, seed } = this.fields;
    return { text: this.text.value, temperature: given(temperature), top_k: given(top_k), top_p: given(top_p), seed: given(seed) };
  }

  // Does something that takes a while; what goes wrong is said in its place.
  async busy(word, work) {
    this.note.hidden = true;
    this.element.setAttribute("aria-busy", "true");
    this.context.announce(t(word));
    const focused = document.activeElement;
    for (const one of this.buttons) {
      one.disabled = true;
    }
    try {
      await work();
    } catch (error) {
      this.note.textContent = error.message;
      this.note.hidden = false;
    } finally {
      this.element.removeAttribute("aria-busy");
      for (const one of this.buttons) {
        one.disabled = false;
      }
      if (this.element.contains(focused)) {
        focused.focus();
      }
    }
  }

  // The text so far, and the step that is looked at.
  show(at = this.writing.steps.length - 1) {
    const { writing } = this;
    this.at = at;
    const step = writing.steps[at];
    const kept = step && writing.kept(at);
    if (kept && !this.memory) {
      this.memory = new Memory(this.context);
    }
    fill(
      this.shown,
      h("h2", {}, t("generate.text_so_far")),
      this.tokens(at),
      writing.ended && h("p", { class: "soft" }, t("generate.ended")),
      step && distribution(step, writing.question),
      kept && this.memory.element,
    );
    if (kept) {
      this.memory.show(kept, writing.read(at));
    }
    if (step) {
      const { text, rank } = step.token;
      this.context.announce(t("generate.drawn.said", { step: step.step, token: tokenLabel(text), rank: rank + 1 }));
      this.context.change(writing.address);
    }
  }

  tokens(at) {
    const prompt = this.writing.prompt.map(({ id, text }) => h("li", { class: "token generate-given", title: `${id}` }, tokenLabel(text)));
    const written = this.writing.steps.map((step, place) =>
      h(
        "li",
        {},
        h(
          "button",
          { type: "button", class: "token generate-token", "data-step": step.step, "aria-current": place === at ? "step" : null, title: `${step.token.id}`, onclick: () => this.look(place) },
          tokenLabel(step.token.text),
        ),
      ),
    );
    return h("ol", { class: "tokens generate-tokens", "aria-label": t("generate.text_so_far"), dir: "auto" }, prompt, written);
  }

  look(place) {
    this.show(place);
    this.shown.querySelector(`[data-step="${place + 1}"]`)?.focus();
  }
}

function button(name, onclick, attributes = {}, values = {}) {
  return h("button", { type: "button", class: "button", "data-action": name, ...attributes, onclick }, t(`generate.${name}`, values));
}

function number(name, value, attributes) {
  const field = h("input", { class: "field", type: "number", name, inputmode: "decimal", ...attributes });
  field.value = value;
  return field;
}
