/** The scope of packages that the documents name. */
export const publicScope = "@muster-fleet";

/** A text with packages as they are published: under a scope, those that a checkout calls `@muster/…`, too. */
export const scoped = (text, scope) =>
  text.replaceAll("@muster/", `${scope}/`).replaceAll(`${publicScope}/`, `${scope}/`);
