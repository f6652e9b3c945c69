/** Columns of an audit export as CSV, in the order that a file has them. */
export const auditCsvColumns = [
  "id",
  "orgId",
  "timestamp",
  "actorType",
  "actorId",
  "actorEmail",
  "actorName",
  "actorRole",
  "sessionId",
  "action",
  "category",
  "resourceType",
  "resourceId",
  "resourceName",
  "result",
  "errorMessage",
  "ipAddress",
  "userAgent",
  "details",
  "chainId",
  "seq",
  "checksum",
  "prevChecksum",
  // New columns come last: programs read files by position.
  "targets",
] as const;

export type AuditCsvColumn = (typeof auditCsvColumns)[number];
