// The text of a token as it is shown: blanks and line breaks are seen.

const SEEN = { "\n": "⏎", "\t": "⇥", "\r": "␍", " ": "␣" };

// Blanks at the ends would not be seen, breaks would break the line.
export function tokenLabel(text) {
  if (text === "") {
    return "∅";
  }
  return text.replace(/[\n\t\r]|^ +| +$/g, (found) =>
    Array.from(found, (mark) => SEEN[mark]).join(""),
  );
}
