// What a search finds among values.

// A test of entries: every word must stand in one of their paths; `*` stands for anything.
export function matcher(words) {
  const tests = words.toLowerCase().split(/\s+/).filter(Boolean).map(test);
  return ({ path, also }) => {
    const names = [path, ...(also ?? [])].map((name) => name.toLowerCase());
    return tests.every((one) => names.some(one));
  };
}

function test(word) {
  if (!word.includes("*")) {
    return (name) => name.includes(word);
  }
  const literal = (part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  const pattern = new RegExp(`^${word.split("*").map(literal).join(".*")}$`);
  return (name) => pattern.test(name);
}
