export const version = "0.1.0";
export const migrations = new URL("../migrations/", import.meta.url);

/** No settings beyond those of every service yet. */
export const settings = {};
