// What lints and generators ask about the repository's files.
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The anchor of a heading, and the name of a decision's file after its number. */
export const slug = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .trim()
    .replaceAll(/\s+/g, "-");

/** Paths of files below a folder whose name matches; packages and generated files are left out. */
export function filesIn(folder, name) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !/\/(node_modules|generated)\//.test(path));
}

/** Sources, their tests and compiled declarations left out. */
export const sourceName = /(?<!\.test|\.d)\.ts$/;
