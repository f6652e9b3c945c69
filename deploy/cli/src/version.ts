/** What a release writes into the program. */
declare const MUSTER_CLI_VERSION: string;
declare const MUSTER_CLI_SCOPE: string;

/** Semantic version of this program; of one that runs from a checkout `development`. */
export const version: string = typeof MUSTER_CLI_VERSION === "string" ? MUSTER_CLI_VERSION : "development";

/** Scope of the packages that were released with this program; null in a checkout. */
export const scope: string | null = typeof MUSTER_CLI_SCOPE === "string" ? MUSTER_CLI_SCOPE : null;
