import { uuidv7 } from "@muster/kit";
import type { ChainRow } from "../rules/chain-row.ts";
import type { Entry } from "../rules/entry.ts";

/** A row of some chain: a user created a site. */
export function aChainRow({ seq = 7, ...changes }: Partial<Entry> & { seq?: number } = {}): ChainRow {
  return {
    entry: {
      id: uuidv7(),
      chainId: uuidv7(),
      orgId: uuidv7(),
      partnerId: uuidv7(),
      timestamp: new Date("2026-03-01T10:00:00.123Z"),
      actorType: "user",
      actorId: uuidv7(),
      actorEmail: "ada@example.com",
      actorName: "Ada",
      actorRole: "org-admin",
      actorDepartment: null,
      sessionId: uuidv7(),
      action: "site.create",
      resourceType: "site",
      resourceId: uuidv7(),
      resourceName: "North",
      details: { changedFields: ["name"] },
      ipAddress: "203.0.113.7",
      userAgent: "curl/8",
      result: "success",
      errorMessage: null,
      ...changes,
    },
    seq,
    format: 1,
    personalSalt: Buffer.alloc(16),
    personalDigest: null,
    checksum: "c",
    prevChecksum: "p",
  };
}
