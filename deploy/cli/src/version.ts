/** What a release writes into the program. */
declare const MUSTER_CLI_VERSION: string;

/** Semantic version of this program; of one that runs from a checkout `development`. */
export const version: string = typeof MUSTER_CLI_VERSION === "string" ? MUSTER_CLI_VERSION : "development";
