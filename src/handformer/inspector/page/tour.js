// The worked examples as a tour: an overview, and each step on a screen of its own.

import { h } from "./dom.js";
import { arrayTables, mark } from "./tour_arrays.js";
import { countSeen } from "./tour_paper.js";
import { prose } from "./tour_prose.js";
import { scalars, stepScreen } from "./tour_step.js";
import "./tour_words.js";
import { t } from "./words.js";

const LESSON = "lesson";

export async function render(root, route, context) {
  const tour = await context.source.tour(context.language);
  if (!tour) {
    root.append(h("h1", { class: "title" }, t("tour.title")), h("p", { class: "notice" }, t("tour.none")));
    return;
  }
  const [name = "", screen = ""] = route.segments;
  if (!name) {
    root.append(...overview(tour, context));
    return;
  }
  const screens = allScreens(tour);
  const place = screens.findIndex((one) => one.example.name === name && one.screen === screen);
  if (place < 0) {
    throw new Error(t("tour.unknown", { name: route.rest }));
  }
  const here = screens[place];
  const address = (one, query) => context.href("tour", one.screen ? `${one.example.name}/${one.screen}` : one.example.name, { of: null, at: null, ...query });
  const [before, after] = [screens[place - 1], screens[place + 1]];
  const body = bodyOf(tour, here, context, origins(here, address));
  root.append(
    head(here, context),
    way(screens.filter((one) => one.example === here.example), here, address),
    body.root,
    around(here, before, after, address, context),
    h("p", { class: "tour-keys soft" }, t("tour.keys")),
  );
  pointAt(root, route.query);
  root.querySelector(".tour-way [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  const to = (one) => () => {
    context.go(one ? address(one) : context.href("tour"));
    return true;
  };
  context.keys({ ArrowLeft: to(before), ArrowRight: to(after), r: () => body.showNext?.() ?? false });
}

// Every screen in the order of the tour: what is given, the steps, the lesson.
function allScreens(tour) {
  return tour.parts.flatMap((part) =>
    part.examples.flatMap((name) => {
      const example = tour.examples[name];
      const steps = example.steps.map((step) => ({ part, example, step, screen: step.name }));
      return [{ part, example, screen: "" }, ...steps, { part, example, screen: LESSON }];
    }),
  );
}

function titleOf({ screen, step }) {
  if (step) {
    return h("code", {}, step.name);
  }
  return t(screen === LESSON ? "tour.lesson" : "tour.intro");
}

// Where a number of a formula comes from: the step that made it, or what is given. What is made
// between the steps is only seen in the tables of this one.
function origins(here, address) {
  const { example } = here;
  const steps = new Set(example.steps.map((step) => step.name));
  const given = new Set(example.inputs);
  return (name, place) => {
    const screen = steps.has(name) ? name : given.has(name) ? "" : here.screen;
    return address({ example, screen }, { of: name, at: place.join(",") });
  };
}

function overview(tour, context) {
  const parts = tour.parts.map((part) => {
    const examples = part.examples.map((name) => {
      const example = tour.examples[name];
      const [seen, count] = [countSeen(example), example.steps.length];
      const said = seen > 0 ? t("tour.seen", { seen, count }) : t("tour.steps", { count });
      return h("li", {},
        h("a", { class: "tour-card panel", href: context.href("tour", name), dataset: { example: name } },
          h("span", { class: "tour-card-title" }, example.title),
          h("span", { class: "soft" }, said),
          h("progress", { value: seen, max: count, "aria-hidden": "true" })));
    });
    return h("section", { class: "tour-part" }, h("h2", {}, part.title), h("ol", { class: "tour-list" }, examples));
  });
  return [h("h1", { class: "title" }, t("tour.title")), h("p", { class: "tour-about" }, t("tour.about")), ...parts];
}

function head(here, context) {
  const { part, example, screen, step } = here;
  const crumbs = h("nav", { class: "crumbs", "aria-label": t("tour.title") },
    h("a", { href: context.href("tour") }, t("tour.title")), " › ", h("span", {}, part.title),
    screen ? [" › ", h("a", { href: context.href("tour", example.name) }, example.title)] : null);
  const number = step ? `${example.steps.indexOf(step) + 1} · ` : "";
  return h("header", { class: "tour-head" }, crumbs, h("h1", { class: "title" }, number, screen ? titleOf(here) : example.title));
}

// The screens of the example as a line of links, which is its progress too.
function way(screens, here, address) {
  const links = screens.map((one) => {
    const current = one.screen === here.screen;
    const link = h("a", { href: address(one), "aria-current": current ? "step" : null }, titleOf(one));
    return h("li", {}, link);
  });
  const at = screens.findIndex((one) => one.screen === here.screen) + 1;
  const said = t("tour.place", { at, count: screens.length });
  return h("nav", { class: "tour-way", "aria-label": t("tour.way") },
    h("progress", { value: at, max: screens.length, "aria-label": said }), h("ol", {}, links));
}

function bodyOf(tour, here, context, address) {
  const { example, step, screen } = here;
  if (step) {
    return stepScreen(tour, example, step, context, address);
  }
  const text = (words) => h("p", { class: "tour-words" }, prose(words, tour, example, context));
  if (screen === LESSON) {
    return { root: h("div", { class: "tour-told" }, text(example.lesson)) };
  }
  return { root: h("div", { class: "tour-intro" }, text(example.words), given(tour, example)) };
}

function given(tour, example) {
  const arrays = example.inputs.map((name) => arrayTables(name, example.arrays[name]));
  const letters = Object.entries(example.letters).flatMap(([letter, meaning]) => [h("dt", {}, letter), h("dd", {}, meaning)]);
  return [
    h("h2", {}, t("tour.intro")),
    h("div", { class: "tour-matrices" }, arrays),
    scalars(Object.entries(example.scalars)),
    h("h2", {}, t("tour.letters")),
    h("p", { class: "soft" }, tour.places),
    h("dl", { class: "tour-letters" }, letters),
  ];
}

function around(here, before, after, address, context) {
  const button = (one, key, kind) => {
    const other = one.example !== here.example;
    const name = other ? h("span", {}, one.example.title) : titleOf(one);
    return h("a", { class: `button ${kind}`, href: address(one), dataset: { action: key } }, h("span", { class: "tour-go" }, t(`tour.${key}`)), " ", name);
  };
  const forth = after && after.example !== here.example ? "nextExample" : here.screen ? "next" : "begin";
  return h("nav", { class: "tour-around", "aria-label": `${t("tour.previous")}, ${t("tour.next")}` },
    before ? button(before, "previous", "quiet") : h("span", {}),
    after ? button(after, forth, "primary") : h("a", { class: "button primary", href: context.href("tour") }, t("tour.finish")));
}

// The cell that a formula led here from.
function pointAt(root, { of, at }) {
  if (of) {
    const place = at ? at.split(",").map(Number) : [];
    mark(root, "here", [[of, place]]);
  }
}
