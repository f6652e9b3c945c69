import semver from "semver";
import type { Checks } from "./fields.ts";

const maxRange = 256;

/** A range in node-semver's grammar; empty text is no range. */
export function rangeField(field: string, range: string, check: Checks): string {
  check.text(field, range, maxRange);
  if (range !== "" && semver.validRange(range) === null) check.fail(field, "Not a range of semantic versions");
  return range;
}

/** Those of the versions that a range contains; what is no semantic version is in no range. */
export function versionsIn(range: string, versions: readonly string[]): string[] {
  return versions.filter((version) => semver.valid(version) !== null && semver.satisfies(version, range));
}
