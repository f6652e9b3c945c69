// Two releases may share a Prometheus: each selector of a rule or dashboard names one of them.

const series = /\b((?:muster[_:]|process_|nodejs_)[a-z0-9_:]+|up)\b(\{[^}]*\})?/g;

/** The selectors of a PromQL expression that lack `namespace` or `release`. */
export const unscoped = (expr) =>
  [...expr.matchAll(series)]
    .filter(([, , matchers = ""]) => !/namespace="/.test(matchers) || !/release="/.test(matchers))
    .map(([selector]) => selector);

/** The expression with `matchers` added to each of its selectors. */
export const scoped = (expr, matchers) =>
  expr.replace(series, (_, name, own) => `${name}{${own ? `${matchers},${own.slice(1, -1)}` : matchers}}`);
