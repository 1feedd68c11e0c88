// The head of the page: what is open, which way it is read, the views that there are.

import { fill, h, s } from "./dom.js";
import { openHelp, announce } from "./help.js";
import { remember } from "./memory.js";
import { LANGUAGES, t } from "./words.js";

const TURNING = ["", "value", "values", "attention", "tokens"]; // the views of a trace

export class Header {
  constructor(app) {
    this.app = app;
    this.root = document.getElementById("header");
  }

  show(route, trace) {
    const focused = this.root.contains(document.activeElement)
      ? document.activeElement.dataset.action
      : null;
    const { about } = this.app.source;
    fill(
      this.root,
      h(
        "div",
        { class: "bar-top" },
        h("a", { class: "brand", href: this.app.href("") }, mark(), h("span", {}, "handformer")),
        h("span", { class: "what", title: about.title ?? "" }, about.title ?? ""),
        h(
          "div",
          { class: "tools" },
          turns(route, trace) && this.direction(),
          this.language(),
          this.theme(),
          help(),
        ),
      ),
      h("div", { class: "bar-views" }, this.views(route, trace), this.traces(trace)),
    );
    if (focused) {
      this.root.querySelector(`[data-action="${focused}"]`)?.focus();
    }
  }

  direction() {
    const back = this.app.direction === "back";
    const turn = () => this.app.turnAround();
    const one = (name, on) =>
      h(
        "span",
        { class: "side", "data-on": on },
        arrow(name === "back"),
        h("span", { class: "word" }, t(`header.${name}`)),
      );
    return h(
      "button",
      {
        class: "direction",
        type: "button",
        role: "switch",
        "aria-checked": String(back),
        "aria-label": t("said.back"),
        "data-action": "direction",
        title: "b",
        onclick: turn,
      },
      one("forward", !back),
      one("back", back),
    );
  }

  language() {
    const change = (event) => {
      remember("language", event.target.value);
      this.app.change({ lang: event.target.value });
    };
    const now = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
    const options = Object.entries(LANGUAGES).map(([key, name]) =>
      h("option", { value: key, selected: key === now, lang: key }, name),
    );
    return h(
      "select",
      {
        class: "quiet",
        "aria-label": t("header.language"),
        "data-action": "language",
        onchange: change,
      },
      options,
    );
  }

  theme() {
    const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    const change = () => {
      this.app.setTheme(other);
      this.show(this.app.route, this.app.mounted?.trace ?? null);
      announce(t(`said.${other}`));
    };
    return h(
      "button",
      {
        class: "quiet icon",
        type: "button",
        "aria-label": t(`header.theme.${other}`),
        title: t(`header.theme.${other}`),
        "data-action": "theme",
        onclick: change,
      },
      moon(),
    );
  }

  views(route, trace) {
    const { can = {}, tour } = this.app.source.about;
    const attends = trace && trace.entries.some(({ path }) => path.endsWith(".attn"));
    const judged = trace && trace.entry("loss.losses");
    const shown = {
      check: can.check,
      "": trace !== null || !can.log,
      attention: attends,
      tokens: judged,
      values: trace !== null,
      generate: can.generate || can.run,
      run: can.log,
      tour: can.tour ?? tour ?? true,
    };
    const here = route.view === "value" ? "values" : route.view;
    const links = Object.keys(shown)
      .filter((view) => shown[view])
      .map((view) =>
        h(
          "a",
          {
            href: this.app.href(view),
            "data-nav": view || "picture",
            "aria-current": view === here ? "page" : null,
          },
          t(`nav.${view}`),
        ),
      );
    return h("nav", { "aria-label": t("nav") }, links);
  }

  traces(trace) {
    const { traces } = this.app.source;
    if (traces.length < 2) {
      return null;
    }
    const change = (event) => this.app.change({ t: event.target.value }, false);
    const options = traces.map(({ id, title }) =>
      h("option", { value: id, selected: String(id) === String(trace?.id) }, title),
    );
    return h(
      "label",
      { class: "which" },
      h("span", {}, t("header.trace")),
      h("select", { class: "quiet", "data-action": "trace", onchange: change }, options),
    );
  }
}

// Whether a view has another direction to be read in.
export function turns({ view }, trace) {
  return TURNING.includes(view) && Boolean(trace?.entries.some(({ kind }) => kind === "gradient"));
}

function help() {
  return h(
    "button",
    {
      class: "quiet icon",
      type: "button",
      "aria-label": t("header.help"),
      title: "?",
      "data-action": "help",
      onclick: openHelp,
    },
    "?",
  );
}

// The residual stream with one part that branches off and is added back.
function mark() {
  const lines = ["M10 3v26", "M10 7h6a6 6 0 0 1 6 6v3a6 6 0 0 1-6 6h-2", "M8 22h4", "M10 20v4"];
  return s(
    "svg",
    { class: "mark", viewBox: "4 1 22 30", "aria-hidden": "true" },
    s("circle", { cx: 10, cy: 22, r: 4.5 }),
    lines.map((d) => s("path", { d })),
  );
}

function arrow(upwards) {
  return s(
    "svg",
    { class: "arrow", viewBox: "0 0 10 12", "aria-hidden": "true" },
    s("path", { d: upwards ? "M5 11V2M1.5 5.5 5 2l3.5 3.5" : "M5 1v9M1.5 6.5 5 10l3.5-3.5" }),
  );
}

function moon() {
  return s(
    "svg",
    { viewBox: "0 0 16 16", "aria-hidden": "true" },
    s("circle", { cx: 8, cy: 8, r: 6 }),
    s("path", { class: "full", d: "M8 2a6 6 0 0 1 0 12z" }),
  );
}
