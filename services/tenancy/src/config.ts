export const version = "0.1.0";
export const migrations = new URL("../migrations/", import.meta.url);

/** Tenancy has no settings beyond those of every service. */
export const settings = {};
