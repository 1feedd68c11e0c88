// All numbers of a run's log as a table, a row an update: to read and to copy, whole.

import { fill, h } from "./dom.js";
import { short, whole } from "./number.js";

const FEW = 200; // rows that are made at first: the newest

export class RunTable {
  constructor(context) {
    this.t = context.t;
    this.inside = h("div", { class: "run-table-box", tabindex: "0", role: "region", "aria-label": this.t("run.table") });
    this.element = h(
      "details",
      { class: "panel", "data-table": "run", ontoggle: () => this.refresh() },
      h("summary", null, this.t("run.table")),
      this.inside,
    );
    this.most = FEW;
  }

  show(log) {
    this.log = log;
    this.refresh();
  }

  refresh() {
    if (!this.element.open || !this.log) {
      return;
    }
    const { t } = this;
    const { names, rows } = table(this.log, t);
    const seen = rows.slice(-this.most);
    const head = h("tr", null, names.map((name) => h("th", { scope: "col" }, name)));
    const body = seen.map(([step, ...numbers]) =>
      h("tr", { "data-step": step }, h("th", { scope: "row" }, String(step)), numbers.map((x) => cell(x))),
    );
    const more = h("button", { type: "button", class: "button small", onclick: () => this.all() }, t("run.all", { count: rows.length }));
    const made = h("table", { class: "table number" }, h("caption", { class: "visually-hidden" }, t("run.table")), h("thead", null, head), h("tbody", null, body));
    fill(this.inside, rows.length > seen.length ? more : null, made);
  }

  all() {
    this.most = Infinity;
    this.refresh();
    this.inside.focus();
  }
}

function cell(x) {
  return Number.isFinite(x) ? h("td", { title: whole(x) }, short(x)) : h("td", null, "");
}

// The names of the columns, and a row for each update at which anything was logged.
function table(log, t) {
  const { training, validation, parts } = log;
  const columns = [
    [t("run.training"), training.step, training.loss],
    [t("run.validation"), validation.step, validation.loss],
    [t("run.lr"), training.step, training.lr],
    [t("run.norm"), training.step, training.gradient_norm],
    [t("run.speed"), training.step, training.tokens_per_second],
    ...parts.names.map((name, at) => [name, parts.step, parts.norms.map((row) => row[at])]),
  ];
  const found = columns.map(([, steps, numbers]) => new Map(steps.map((step, at) => [step, numbers[at]])));
  const steps = [...new Set(found.flatMap((column) => [...column.keys()]))].sort((a, b) => a - b);
  return {
    names: [t("run.step"), ...columns.map(([name]) => name)],
    rows: steps.map((step) => [step, ...found.map((column) => column.get(step) ?? null)]),
  };
}
