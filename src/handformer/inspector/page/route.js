// The address of a view: "#/value/blocks.0.attention.scores?at=0,1,3,2", taken apart and put together.

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody typed a lone "%"
  }
}

function encoded(text) {
  return encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%20", "+");
}

// {view, rest, segments, query} of an address's hash.
export function parse(hash) {
  const text = hash.replace(/^#?\/?/, "");
  const cut = text.indexOf("?");
  const path = cut < 0 ? text : text.slice(0, cut);
  const query = new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1));
  const [view, ...segments] = path.split("/").map(decoded);
  return { view, rest: segments.join("/"), segments, query: Object.fromEntries(query) };
}

// The hash of a route; what is null or empty in its query is left out.
export function format({ view = "", rest = "", query = {} }) {
  const path = [view, ...(rest ? rest.split("/") : [])].map(encodeURIComponent).join("/");
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const tail = pairs
    .map(([key, value]) => `${encodeURIComponent(key)}=${encoded(String(value))}`)
    .join("&");
  return `#/${path}${tail ? `?${tail}` : ""}`;
}

// One step up: from a value to the picture, from a part's values to all values, and so on.
export function up({ view, rest }) {
  return rest && (view === "values" || view === "tour")
    ? { view, rest: "" }
    : { view: "", rest: "" };
}
