// A run: how its losses, its learning rate and its gradients went, and what the model wrote on the way.

import { colourOf, css, makeScale } from "./colours.js";
import { fill, h } from "./dom.js";
import { short, whole } from "./number.js";
import { Curves } from "./run_curves.js";
import { PartsMap } from "./run_map.js";
import { RunTable } from "./run_table.js";
import { WORDS } from "./run_words.js";
import { register } from "./words.js";

export { WORDS };
register(WORDS);

const OPEN = 3; // samples that are shown unfolded
const BLOCK = /^(.*)\.(\d+)$/;

export async function render(root, route, context) {
  const { source, t, announce } = context;
  const told = source.about.can?.log === false ? null : await source.log();
  const title = h("h1", { class: "title" }, t("run.title"));
  if (!told) {
    fill(root, title, h("p", { class: "notice" }, t("run.none")));
    return;
  }
  const view = new View(context, told);
  const refresh = async () => {
    view.show(await source.log());
    announce(t("run.refreshed", { step: view.log.step }));
  };
  const button = h("button", { type: "button", class: "button small", "data-action": "refresh", onclick: refresh }, t("run.refresh"));
  const head = h("div", { class: "run-head" }, title, source.about.offline ? null : button);
  fill(root, h("div", { class: "run" }, head, view.lead, view.body));
  view.show(told);
}

class View {
  constructor(context, log) {
    const { t } = context;
    Object.assign(this, { context, t });
    const curves = (name, words, more) => new Curves({ name, title: t(words), xName: t("run.updates"), ...more }, context);
    const { clip } = log.config.train;
    const rule = { y: clip, name: t("run.clip", { limit: short(clip) }) };
    this.loss = curves("loss", "run.loss", { yName: t("run.loss.unit") });
    this.rate = curves("rate", "run.rate", { yName: t("run.lr"), from: 0 });
    this.norm = curves("norm", "run.norms", { yName: t("run.norm.unit"), logarithmic: true, rule });
    this.parts = curves("parts", "run.parts", { yName: t("run.norm.unit"), logarithmic: true });
    this.map = new PartsMap(context);
    this.table = new RunTable(context);
    this.samples = h("section", { class: "run-samples", "data-samples": "", "aria-labelledby": "run-samples" });
    this.lead = h("div", { class: "run-lead soft" });
    this.body = h("div", { class: "run-body" });
  }

  show(log) {
    const { t } = this;
    this.log = log;
    const { training, validation, parts } = log;
    fill(this.lead, lead(log, t).map((line) => h("p", null, line)));
    const empty = !training.step.length && !validation.step.length;
    const split = parts.names.length ? [this.parts.element, this.map.element] : [h("p", { class: "notice" }, t("run.no.parts"))];
    const plots = [this.loss.element, h("div", { class: "run-pair" }, this.rate.element, this.norm.element), split, this.samples, this.table.element];
    const shown = empty ? [h("p", { class: "notice" }, t("run.empty"))] : plots;
    const focused = document.activeElement;
    fill(this.body, shown, settings(log.config, t));
    if (this.body.contains(focused)) {
      focused.focus({ preventScroll: true });
    }
    this.loss.show([
      { name: t("run.training"), class: "is-training", points: points(training.step, training.loss) },
      { name: t("run.validation"), class: "is-validation", dots: validation.step.length <= 60, points: points(validation.step, validation.loss) },
    ]);
    this.rate.show([{ name: t("run.lr"), class: "is-rate", points: points(training.step, training.lr) }]);
    this.norm.show([{ name: t("run.norm"), class: "is-norm", points: points(training.step, training.gradient_norm) }]);
    if (parts.names.length) {
      this.parts.show(curvesOf(parts));
      this.map.show(parts);
    }
    this.showSamples(log.samples);
    this.table.show(log);
  }

  // The newest first.
  showSamples(samples) {
    const { t } = this;
    const one = ({ step, text }, at) =>
      h(
        "details",
        { class: "panel run-sample", open: at < OPEN, "data-step": step },
        h("summary", null, t("run.at", { step })),
        h("pre", { tabindex: "0", "aria-label": t("run.at", { step }) }, text),
      );
    const list = samples.length ? [...samples].reverse().map(one) : h("p", { class: "soft" }, t("run.samples.none"));
    fill(this.samples, h("h2", { id: "run-samples" }, t("run.samples")), list);
  }
}

function points(xs, ys) {
  return xs.map((x, at) => [x, ys[at]]);
}

// Blocks from pale to dark with their depth; what stands beside them has dashes of its own.
function curvesOf(parts) {
  const depths = parts.names.map((name) => (BLOCK.exec(name) ? Number(BLOCK.exec(name)[2]) : null));
  const deepest = Math.max(1, ...depths.filter((depth) => depth !== null));
  const others = parts.names.filter((_, at) => depths[at] === null);
  const dashes = (name) => `is-beside is-beside-${others.indexOf(name) % 4}`;
  return parts.names.map((name, at) => {
    const depth = depths[at];
    const series = { name, points: points(parts.step, parts.norms.map((row) => row[at])) };
    if (depth === null) {
      return { ...series, class: dashes(name) };
    }
    const side = name.startsWith("decoder.") ? 1 : -1;
    const colour = () => css(colourOf(makeScale("diverging", 1), side * (0.35 + (0.65 * depth) / deepest)));
    return { ...series, class: "is-block", colour };
  });
}

function lead(log, t) {
  const { train, model } = log.config;
  const { step, loss } = log.validation;
  const best = loss.reduce((found, x, at) => (x !== null && (found < 0 || x < loss[found]) ? at : found), -1);
  const far = h("strong", { class: "number" }, log.title);
  const lowest = best < 0 ? [] : [", ", h("span", { title: whole(loss[best]), class: "number" }, t("run.best", { loss: short(loss[best]), step: step[best] }))];
  const { family, n_layers: layers, n_heads: heads, d_model: width, context } = model;
  return [[far, ": ", t("run.lead", { step: log.step, steps: train.steps }), lowest], [t("run.weights", { family, layers, heads, width, context })]];
}

function settings(config, t) {
  const said = (x) => (x === null ? "–" : typeof x === "number" ? whole(x) : String(x));
  const rows = (section) => Object.entries(section).map(([key, x]) => h("tr", null, h("th", { scope: "row" }, key), h("td", null, said(x))));
  const tables = Object.entries(config).map(([name, section]) =>
    h("table", { class: "table run-settings" }, h("caption", null, name), h("tbody", null, rows(section))),
  );
  return h("details", { class: "panel", "data-settings": "" }, h("summary", null, t("run.config")), h("div", { class: "run-settings-box" }, tables));
}
