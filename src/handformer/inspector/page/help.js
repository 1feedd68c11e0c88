// What the page says besides its views: the keys, and what a screen reader is told.

import { fill, h } from "./dom.js";
import { t } from "./words.js";

const KEYS = ["b", "/", "?", "Escape", "arrows", "Enter", "g"];
const SHOWN = { Escape: "Esc", arrows: "← ↑ ↓ →", Enter: "Enter" };
const WORDS = ["rms", "largest", "spine", "gradient"];

// Tells a screen reader; the same text twice is told twice.
export function announce(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  setTimeout(() => (live.textContent = text), 30);
}

// Shows the keys; Escape closes the dialog, and the focus goes back to where it was.
export function openHelp() {
  const dialog = document.getElementById("help");
  const keys = KEYS.map((key) => [
    h("dt", {}, h("kbd", {}, SHOWN[key] ?? key)),
    h("dd", {}, t(`help.${key}`)),
  ]);
  const close = h(
    "button",
    { class: "button", type: "button", onclick: () => dialog.close() },
    t("help.close"),
  );
  fill(
    dialog,
    h("h2", { id: "help-title" }, t("help.title")),
    h("dl", { class: "keys" }, keys),
    h("h2", {}, t("help.words")),
    h(
      "ul",
      { class: "plain" },
      WORDS.map((word) => h("li", {}, t(`help.${word}`))),
    ),
    close,
  );
  dialog.showModal();
}
