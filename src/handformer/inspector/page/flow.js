// How much flows: the usual size and the largest magnitude of a value's entries, on one scale.

import { h } from "./dom.js";
import { short, whole } from "./number.js";
import { t } from "./words.js";

const AT_ONCE = 4; // arrays that are read at the same time
const AHEAD = "400px"; // how far outside the window reading begins
const measured = new WeakMap(); // trace -> Map(path -> Promise of {rms, peak, mean, odd, count})

// {rms, peak, mean, odd, count} of a value; `odd` counts what is no number, which the others leave out.
export function measure(trace, path) {
  if (!measured.has(trace)) {
    measured.set(trace, new Map());
  }
  const known = measured.get(trace);
  if (!known.has(path)) {
    const asked = trace.array(path).then(({ data }) => sizes(data));
    known.set(path, asked);
    asked.catch(() => known.delete(path));
  }
  return known.get(path);
}

function sizes(data) {
  let [squares, sum, peak, odd] = [0, 0, 0, 0];
  for (let at = 0; at < data.length; at += 1) {
    const x = data[at];
    if (Number.isFinite(x)) {
      squares += x * x;
      sum += x;
      peak = Math.max(peak, Math.abs(x));
    } else {
      odd += 1;
    }
  }
  const count = Math.max(data.length - odd, 1);
  return { rms: Math.sqrt(squares / count), peak, mean: sum / count, odd, count: data.length };
}

// The bars of a view: each is read when it comes near the window, and all share one scale, whose
// ends are the powers of ten around the smallest and largest number seen so far.
export class Flows {
  constructor(trace, signal) {
    this.trace = trace;
    this.shown = new Map(); // element -> sizes
    this.waiting = [];
    this.busy = 0;
    this.low = Infinity;
    this.high = -Infinity;
    this.signal = signal;
    this.watcher = new IntersectionObserver((seen) => this.see(seen), { rootMargin: AHEAD });
    signal.addEventListener("abort", () => this.watcher.disconnect());
  }

  // An element that shows what flows at a path; null where there is no such value.
  of(path) {
    const entry = path === null ? null : this.trace.entry(path);
    if (!entry) {
      return h("span", { class: "flow none" });
    }
    const element = h("span", { class: "flow", "data-flow": entry.path });
    if (entry.kept === false) {
      element.append(h("span", { class: "faint" }, t("flow.left_out")));
      return element;
    }
    element.append(
      h("span", { class: "bar", "aria-hidden": "true" }, h("i"), h("b")),
      h("span", { class: "number wait" }, "·"),
    );
    this.watcher.observe(element);
    return element;
  }

  // Begins anew, with other values and another scale.
  clear() {
    this.watcher.disconnect();
    this.shown.clear();
    this.waiting = [];
    [this.low, this.high] = [Infinity, -Infinity];
  }

  see(seen) {
    for (const { isIntersecting, target } of seen) {
      if (isIntersecting) {
        this.watcher.unobserve(target);
        this.waiting.push(target);
      }
    }
    this.next();
  }

  next() {
    while (this.busy < AT_ONCE && this.waiting.length && !this.signal.aborted) {
      this.busy += 1;
      this.fill(this.waiting.shift()).finally(() => {
        this.busy -= 1;
        this.next();
      });
    }
  }

  async fill(element) {
    try {
      const found = await measure(this.trace, element.dataset.flow);
      this.shown.set(element, found);
      put(element, found);
      this.widen(found);
      this.draw(element, found);
    } catch (error) {
      element.replaceChildren(h("span", { class: "faint", title: error.message }, "?"));
    }
  }

  // The scale grows to hold one more; then every bar is drawn anew.
  widen({ rms, peak }) {
    const [low, high] = [this.low, this.high];
    if (rms > 0) {
      this.low = Math.min(low, Math.floor(Math.log10(rms)) - 1);
      this.high = Math.max(high, Math.ceil(Math.log10(peak)));
    }
    if (low !== this.low || high !== this.high) {
      for (const [element, found] of this.shown) {
        this.draw(element, found);
      }
    }
  }

  draw(element, { rms, peak }) {
    const decades = this.high - this.low;
    const bar = element.firstElementChild;
    const part = (x) =>
      x > 0 ? Math.min(Math.max((Math.log10(x) - this.low) / decades, 0), 1) : 0;
    bar.style.setProperty("--decades", decades || 1);
    bar.style.setProperty("--rms", `${100 * part(rms)}%`);
    bar.style.setProperty("--peak", `${100 * part(peak)}%`);
  }
}

function put(element, { rms, peak, odd, count }) {
  const said = t("flow.said", { rms: short(rms), peak: short(peak) });
  const number = (stat, x) =>
    h(
      "span",
      { class: `number ${stat}`, "data-stat": stat, title: `${t(`flow.${stat}`)}: ${whole(x)}` },
      count === 1 ? short(x) : short(x, 3),
    );
  element.lastElementChild.replaceWith(
    h("span", { class: "visually-hidden" }, said),
    h(
      "span",
      { class: "numbers", "aria-hidden": "true" },
      number("rms", rms),
      count > 1 && number("peak", peak),
      odd > 0 && h("span", { class: "warn" }, t("flow.odd", { odd })),
    ),
  );
}
