// The page: opens the source, reads the address, and mounts the view that it names.

import { h } from "./dom.js";
import { openSource } from "./source.js";
import { recall, remember } from "./memory.js";
import { format, parse } from "./route.js";
import { t, setLanguage, preferred, LANGUAGES } from "./words.js";
import { Header, turns } from "./header.js";
import { announce } from "./help.js";
import { listen } from "./keys.js";
import * as picture from "./picture.js";
import * as value from "./value.js";
import * as attention from "./attention.js";
import * as tokens from "./tokens.js";
import * as generate from "./generate.js";
import * as run from "./run.js";
import * as tour from "./tour.js";
import * as values from "./values.js";
import * as check from "./check.js";

const VIEWS = { "": picture, value, attention, tokens, generate, run, tour, values, check };
const KEPT = ["t", "dir", "lang"]; // what stays in the address from view to view
const PATIENCE = 150; // milliseconds after which the page says that it is reading

class App {
  constructor(source) {
    this.source = source;
    this.main = document.getElementById("view");
    this.context = null;
    this.mounted = null; // {view, trace, route, leave, keys, controller}
    this.turn = 0;
    this.latest = null; // the trace that was shown last
    this.scrolled = new Map(); // address -> how far down it was when it was left
    this.left = new Map(); // view and rest -> the query it was left with
    this.header = new Header(this);
  }

  get route() {
    return parse(location.hash);
  }

  // The address of a view that keeps the trace, direction and language of now.
  href(view, rest = "", query = {}) {
    const now = this.route.query;
    const kept = Object.fromEntries(KEPT.filter((key) => key in now).map((key) => [key, now[key]]));
    return format({ view, rest, query: { ...kept, ...query } });
  }

  // Goes to a route or an address; `replace` makes no new entry in the history.
  go(to, replace = false) {
    const address =
      typeof to === "string" ? to : this.href(to.view ?? "", to.rest ?? "", to.query ?? {});
    if (address === location.hash) {
      return;
    }
    this.asked = address;
    if (replace) {
      history.replaceState(null, "", address);
      this.show();
    } else {
      location.hash = address;
    }
  }

  // The same view with another query; what is null is dropped.
  change(query, replace = true) {
    const { view, rest, query: now } = this.route;
    this.go(format({ view, rest, query: { ...now, ...query } }), replace);
  }

  get direction() {
    return this.route.query.dir === "back" ? "back" : "forward";
  }

  turnAround() {
    const back = this.direction === "forward";
    this.change({ dir: back ? "back" : null });
    announce(t(back ? "said.back" : "said.forward"));
  }

  setTheme(theme, chosen = true) {
    document.documentElement.dataset.theme = theme;
    if (chosen) {
      remember("theme", theme);
    }
    document.dispatchEvent(new CustomEvent("themechange", { detail: theme }));
  }

  // Reads the address and shows what it says.
  async show() {
    const turn = (this.turn += 1);
    const route = this.route;
    const language =
      route.query.lang in LANGUAGES ? route.query.lang : (recall("language") ?? preferred());
    setLanguage(language);
    document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
    try {
      const trace = await this.trace(route.query.t);
      if (turn !== this.turn) {
        return;
      }
      document.body.dataset.direction = turns(route, trace) ? this.direction : "forward";
      this.latest = trace;
      await this.mount(turn, route, trace, language);
      if (turn === this.turn) {
        this.main.dataset.address = location.hash; // what is shown now, to whoever waits for it
      }
    } catch (error) {
      if (turn === this.turn) {
        this.fail(route, error);
      }
    }
    document.body.dataset.ready = "";
  }

  async trace(asked) {
    const { traces } = this.source;
    const id = asked ?? traces.at(-1)?.id;
    if (id === undefined) {
      return null;
    }
    if (!traces.some((trace) => String(trace.id) === String(id))) {
      throw new Error(t("error.trace", { id }));
    }
    return this.source.trace(id);
  }

  async mount(turn, route, trace, language) {
    if (!route.view && !trace && this.source.about.can?.log) {
      this.go({ view: "run" }, true); // a run is looked at first, and has no trace yet
      return;
    }
    const view = Object.hasOwn(VIEWS, route.view) ? VIEWS[route.view] : null;
    if (!view) {
      throw new Error(t("error.view", { name: route.view }));
    }
    this.header.show(route, trace);
    const before = this.mounted;
    const same =
      before && before.view === view && before.trace === trace && before.language === language;
    if (same && view.update) {
      before.route = route;
      if ((await view.update(before.root, route, before.context)) !== false) {
        return;
      }
      if (turn !== this.turn) {
        return;
      }
    }
    const moved = before && !(before.view === view && before.route.rest === route.rest);
    this.leave();
    const controller = new AbortController();
    const root = h("div", { class: `view view-${route.view || "picture"}` });
    const mounted = { view, trace, route, language, root, controller, keys: {}, leave: null };
    mounted.context = this.contextOf(mounted, trace, language, controller.signal);
    this.mounted = mounted;
    this.main.dataset.view = route.view || "picture";
    this.main.dataset.state = "reading";
    this.main.setAttribute("aria-busy", "true");
    const late = setTimeout(
      () => this.main.prepend(h("p", { class: "reading" }, t("reading"))),
      PATIENCE,
    );
    this.main.replaceChildren(root);
    try {
      mounted.leave = await view.render(root, route, mounted.context);
    } finally {
      clearTimeout(late);
      if (this.mounted === mounted) {
        this.main.querySelector(":scope > .reading")?.remove();
        this.main.removeAttribute("aria-busy");
      }
    }
    if (this.mounted === mounted) {
      this.main.dataset.state = "ready";
      this.arrive(moved);
    }
  }

  // What every view is given.
  contextOf(mounted, trace, language, signal) {
    const app = this;
    return {
      source: this.source,
      trace,
      language,
      signal,
      t,
      announce,
      get direction() {
        return app.direction;
      },
      get theme() {
        return document.documentElement.dataset.theme;
      },
      href: (view, rest, query) => app.href(view, rest, query),
      go: (to) => app.go(to),
      replace: (to) => app.go(to, true),
      change: (query, replace) => app.change(query, replace),
      keys: (table) => {
        mounted.keys = table;
      },
    };
  }

  // After a step to another place: the top of the page, or where it was left when going back.
  arrive(moved) {
    const heading = this.main.querySelector("h1");
    document.title = [heading?.textContent, this.source.about.title, "handformer"]
      .filter(Boolean)
      .join(" · ");
    if (!moved) {
      return;
    }
    const asked = this.asked === location.hash;
    scrollTo(0, asked ? 0 : (this.scrolled.get(location.hash) ?? 0));
    this.asked = null;
    if (heading && !this.main.contains(document.activeElement)) {
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
    announce(heading?.textContent ?? "");
  }

  leave() {
    const { mounted } = this;
    if (mounted) {
      this.scrolled.set(format(mounted.route), scrollY);
      this.left.set(place(mounted.route), mounted.route.query);
      mounted.controller.abort();
      if (typeof mounted.leave === "function") {
        mounted.leave();
      }
    }
    this.mounted = null;
  }

  // Says what went wrong, in the place where the view would be.
  fail(route, error) {
    if (error.constructor !== Error) {
      console.error(error); // no message for people: a mistake of the page's own
    }
    this.leave();
    this.header.show(route, this.latest);
    this.main.dataset.state = "error";
    this.main.dataset.view = route.view || "picture";
    const back = h("a", { class: "button", href: format({}) }, t("error.back"));
    const title = h("h1", { class: "title" }, t("error.title"));
    this.main.replaceChildren(
      h("div", { class: "view error", role: "alert" }, title, h("p", {}, error.message), back),
    );
    document.title = `${t("error.title")} · handformer`;
  }

  // A view as it was left, in the trace, direction and language of now.
  goBackTo(to) {
    const left = { ...this.left.get(place(to)) };
    for (const key of KEPT) {
      delete left[key];
    }
    const address = this.href(to.view, to.rest, left);
    this.go(address);
    this.asked = null; // to where it was scrolled
  }
}

function place({ view, rest }) {
  return `${view}/${rest}`;
}

async function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = recall("theme") ?? (dark.matches ? "dark" : "light");
  setLanguage(recall("language") ?? preferred());
  history.scrollRestoration = "manual"; // views differ in height: the page itself goes where it was
  const app = new App(await openSource());
  if (!location.hash && app.source.about.can?.check) {
    history.replaceState(null, "", format({ view: "check" })); // its answer comes first
  }
  dark.addEventListener(
    "change",
    () => recall("theme") ?? app.setTheme(dark.matches ? "dark" : "light", false),
  );
  addEventListener("hashchange", () => app.show());
  listen(app);
  const skip = document.getElementById("skip");
  skip.textContent = t("skip");
  skip.addEventListener("click", (event) => {
    event.preventDefault(); // the hash is the page's address, not a place on it
    app.main.focus();
  });
  await app.show();
}

start().catch((error) => {
  document
    .getElementById("view")
    .replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
});
