// Names: that of a gradient, dotted paths, and the parts in which a name is shown.

export const WIDTHS = new Set(["d_model", "d_k", "d_ff"]);

export const GREEK = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", eps: "ε", epsilon: "ε", eta: "η", theta: "θ",
  kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ",
  phi: "φ", chi: "χ", psi: "ψ", omega: "ω",
};

// A dotted path from its parts; empty ones vanish.
export function join(...parts) {
  return parts.filter((part) => part !== "").join(".");
}

// The last part of a path.
export function last(path) {
  return path.slice(path.lastIndexOf(".") + 1);
}

// A path as it is seen from a scope that it stands in.
export function stem(path, scope) {
  return scope === "" ? path : path.slice(scope.length + 1);
}

// The name of dL/dz: `d_` before the last part of the path.
export function gradientName(path) {
  const name = last(path);
  return `${path.slice(0, path.length - name.length)}d_${name}`;
}

// Whether a path's last part begins with `d_`, as gradients do.
export function isGradient(path) {
  return last(path).startsWith("d_");
}

// The name of z for d_z.
export function valueName(path) {
  const name = last(path);
  return path.slice(0, path.length - name.length) + name.slice("d_".length);
}

// A name as it is typeset: {path, gradient, base, hat, low}, so that `d_w_q` is the gradient of w
// with the subscript q, and `vocab_size` one word. `bare` says that it stands without places: then
// `d_k` is a width, d with the subscript k.
export function shown(name, bare) {
  let word = last(name);
  const path = name.slice(0, name.length - word.length);
  const gradient = word.startsWith("d_") && !(bare && WIDTHS.has(name));
  word = gradient ? word.slice("d_".length) : word;
  const cut = word.indexOf("_");
  const base = cut < 0 ? word : word.slice(0, cut);
  const low = cut < 0 ? "" : word.slice(cut + 1);
  if (low === "hat") {
    return { path, gradient, base, hat: true, low: "" };
  }
  if (base.length === 1 || base in GREEK || /^\d+$/.test(low)) {
    return { path, gradient, base, hat: false, low };
  }
  return { path, gradient, base: word, hat: false, low: "" };
}
