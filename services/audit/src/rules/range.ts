import { AppError, type Caller, decodeCursor, encodeCursor } from "@muster/kit";

/** The chains a list reads: a few by name, all of a partner, or all there are. */
export type Range =
  | { kind: "chains"; chainIds: readonly string[] }
  | { kind: "partner"; partnerId: string }
  | { kind: "all" };

/** A list position: the last row looked at, and how many matches are still to be skipped before the page begins. */
export type Position = { timestamp: Date; id: string; skip: number };

/**
 * What a caller's list reads, within row-level security. Throws `site_restricted`: a trail covers the whole
 * organization, so users limited to some of its sites cannot read it.
 */
export function rangeOf(caller: Caller, orgId: string | null): Range {
  if (caller.siteIds !== null) {
    throw new AppError("site_restricted", "Audit logs are not available to users limited to some sites");
  }
  if (orgId) return { kind: "chains", chainIds: [orgId] };
  switch (caller.scope) {
    case "system":
      return { kind: "all" };
    case "organization":
      return { kind: "chains", chainIds: caller.orgId ? [caller.orgId] : [] };
    case "partner":
      if (!caller.partnerId) return { kind: "chains", chainIds: [] };
      if (caller.orgAccess.mode === "all") return { kind: "partner", partnerId: caller.partnerId };
      return { kind: "chains", chainIds: [...new Set([caller.partnerId, ...caller.orgAccess.orgIds])] };
    default:
      return caller.scope satisfies never;
  }
}

/** Reads a cursor that cursorOf made; anything else is a 400 on `cursor`. */
export function positionOf(cursor: string): Position {
  const [timestamp, id, skip] = decodeCursor(cursor, ["time", "uuid", "count"]);
  return { timestamp, id, skip };
}

export function cursorOf({ timestamp, id, skip }: Position): string {
  return encodeCursor([timestamp, id, skip]);
}
