// Keys that work in every view. A view's own come first; nothing is taken from fields and dialogs.

import { turns } from "./header.js";
import { openHelp } from "./help.js";
import { up } from "./route.js";

const WRITING =
  "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]";

export function listen(app) {
  const keys = {
    b: () => turns(app.route, app.latest) && app.turnAround(),
    g: () => app.goBackTo({ view: "", rest: "" }),
    "/": () => search(app),
    "?": openHelp,
    Escape: () => goUp(app),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
      return;
    }
    if (document.querySelector("dialog[open]")) {
      return;
    }
    if (event.target.closest?.(WRITING)) {
      if (event.key === "Escape") {
        event.target.blur();
      }
      return;
    }
    const own = app.mounted?.keys[event.key];
    if (own && own(event) === true) {
      event.preventDefault();
    } else if (Object.hasOwn(keys, event.key) && keys[event.key]() !== false) {
      event.preventDefault();
    }
  });
}

// To the view's own search, or to that of all values.
function search(app) {
  const field = app.main.querySelector("input[type=search]");
  if (field) {
    field.focus();
  } else if (app.source.traces.length) {
    app.go({ view: "values", query: { focus: "search" } });
  }
}

function goUp(app) {
  const { view, rest } = app.route;
  if (!view && !rest) {
    return false;
  }
  app.goBackTo(up({ view, rest }));
  return true;
}
