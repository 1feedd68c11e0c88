// Each token: what the model expected after it, what came, and what that cost; and the logit lens,
// what each layer would have expected.

import { fill, h } from "./dom.js";
import { Lens } from "./lens.js";
import { short, whole } from "./number.js";
import { Guesses } from "./guesses.js";
import { tokenTable } from "./token_table.js";
import { tokenLabel } from "./token_text.js";
import { t } from "./words.js";
import "./tokens_words.js";

const IGNORED = -100; // a target that counts for nothing
const PAGE = 64; // places that are shown at once
const views = new WeakMap();

export async function render(root, route, context) {
  const view = new Tokens(root, context);
  views.set(root, view);
  await view.draw(route);
}

// Moving in the lens, or turning around, changes what is there.
export async function update(root, route, context) {
  const view = views.get(root);
  if (
    !view ||
    view.row !== row(route) ||
    view.from !== from(route) ||
    view.direction !== context.direction
  ) {
    return false;
  }
  view.lens?.select(route.query.cell);
  return true;
}

const row = ({ query }) => Number.parseInt(query.row, 10) || 0;
const from = ({ query }) => Number.parseInt(query.from, 10) || 0;

class Tokens {
  constructor(root, context) {
    Object.assign(this, { root, context, trace: context.trace, direction: context.direction });
  }

  async draw(route) {
    const { trace, context } = this;
    const entry = trace.entry("loss.losses");
    if (!entry || entry.kept === false) {
      fill(
        this.root,
        h("h1", { class: "title" }, t("tokens.title")),
        h("p", { class: "notice" }, t("tokens.none")),
      );
      return;
    }
    [this.rows, this.count] = entry.shape;
    this.row = Math.min(Math.max(row(route), 0), this.rows - 1);
    this.from = from(route);
    const first = Math.min(Math.max(this.from, 0), Math.max(this.count - 1, 0));
    this.places = Array.from(
      { length: Math.min(PAGE, this.count - first) },
      (_, step) => first + step,
    );
    const [losses, targets, tokens, guesses, pulls] = await Promise.all([
      this.array("loss.losses"),
      this.array("loss.targets"),
      this.array("tokens"),
      Guesses.of(trace),
      this.pulls(),
    ]);
    Object.assign(this, { losses, targets, tokens, guesses, pulls });
    this.most = Math.max(...this.places.map((place) => this.at(losses, place)), 1e-9);
    fill(
      this.root,
      h("h1", { class: "title" }, t("tokens.title")),
      await this.summary(),
      this.choices(),
      tokenTable(this),
    );
    this.lens = await Lens.of(this);
    if (this.lens) {
      this.root.append(this.lens.element);
      this.lens.select(route.query.cell);
    }
    context.keys(this.lens?.keys ?? {});
  }

  array(path) {
    return this.trace.has(path) ? this.trace.array(path) : null;
  }

  at(array, place) {
    return array ? array.data[this.row * this.count + place] : NaN;
  }

  // How strongly the loss pulls at what each token entered the model with, read backward.
  async pulls() {
    const path =
      this.direction === "back"
        ? (this.trace.gradientOf("x") ?? this.trace.gradientOf("embedding.out"))
        : null;
    if (!path || !this.trace.has(path)) {
      return null;
    }
    const { data, shape } = await this.trace.array(path);
    const width = shape.at(-1);
    const norms = this.places.map((place) => {
      const begin = (this.row * this.count + place) * width;
      return Math.hypot(...data.subarray(begin, begin + width));
    });
    return { path, norms, most: Math.max(...norms, Number.MIN_VALUE) };
  }

  async summary() {
    const { context, trace } = this;
    const loss = trace.has("loss.loss") ? (await trace.array("loss.loss")).data[0] : NaN;
    const one = (name, x, path) =>
      h(
        "li",
        {},
        h("span", { class: "soft" }, t(`tokens.${name}`)),
        " ",
        h(
          path ? "a" : "span",
          {
            class: "number strong",
            href: path && context.href("value", path),
            title: whole(x),
            "data-stat": name,
          },
          short(x),
        ),
      );
    return h(
      "div",
      {},
      h(
        "ul",
        { class: "facts" },
        one("mean", loss, "loss.loss"),
        one("perplexity", Math.exp(loss)),
      ),
      h("p", { class: "lead" }, t(`tokens.lead.${this.direction}`)),
    );
  }

  choices() {
    const { context } = this;
    const step = (name, place, label, current) =>
      h(
        "a",
        {
          class: "button",
          href: context.href("tokens", "", {
            row: this.row || null,
            from: this.from || null,
            [name]: place || null,
          }),
          "aria-current": current ? "true" : null,
        },
        label,
      );
    const rows =
      this.rows > 1 &&
      Array.from({ length: this.rows }, (_, number) =>
        step("row", number, t("tokens.row", { number }), number === this.row),
      );
    const pages = this.count > PAGE && [
      this.from > 0 && step("from", Math.max(this.from - PAGE, 0), t("tokens.before")),
      this.from + PAGE < this.count && step("from", this.from + PAGE, t("tokens.after")),
    ];
    return rows || pages ? h("div", { class: "choices pages" }, rows, pages) : null;
  }

  // A token's text, or its number where the trace knows no texts.
  word(id) {
    return tokenLabel(this.trace.tokenText("n", id) ?? String(id));
  }

  // A token of the text, or of the targets. Padding looks like any other; the loss leaves it out.
  token(place) {
    return tokenLabel(
      this.trace.tokenText("t", place, this.row, "tokens") ?? String(this.at(this.tokens, place)),
    );
  }

  target(place) {
    const id = this.at(this.targets, place);
    return Number.isNaN(id) || id === IGNORED ? null : id;
  }
}
