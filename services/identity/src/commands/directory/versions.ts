import { AppError } from "@muster/kit";

/** Throws `scim_version_mismatch` when If-Match names another version; `*` and nothing match any. */
export function requireVersion(ifMatch: string, version: number): void {
  if (ifMatch === "" || ifMatch.trim() === "*") return;
  const wanted = ifMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (wanted.includes(`"${version}"`)) return;
  throw new AppError("scim_version_mismatch", "The resource has changed: read it again.");
}
