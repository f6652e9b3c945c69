import { packageVersion } from "@muster/kit";
export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

/** No settings beyond those of every service yet. */
export const settings = {};
