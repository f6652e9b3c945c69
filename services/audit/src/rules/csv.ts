import { type AuditCsvColumn, auditCsvColumns } from "@muster/kit";
import { categoryOf } from "./category.ts";
import type { ChainRow } from "./chain-row.ts";

// Spreadsheets interpret a cell that begins with one of these as a formula, quotes or not.
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** One cell (RFC 4180): quoted where needed; what a spreadsheet would run begins with an apostrophe. */
export function csvCell(value: string | null): string {
  if (value === null || value === "") return "";
  const harmless = formula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) || harmless !== value || harmless.trim() !== harmless
    ? `"${harmless.replaceAll('"', '""')}"`
    : harmless;
}

const cells: Readonly<Record<AuditCsvColumn, (row: ChainRow) => string | null>> = {
  id: ({ entry }) => entry.id,
  orgId: ({ entry }) => entry.orgId,
  timestamp: ({ entry }) => entry.timestamp.toISOString(),
  actorType: ({ entry }) => entry.actorType,
  actorId: ({ entry }) => entry.actorId,
  actorEmail: ({ entry }) => entry.actorEmail,
  actorName: ({ entry }) => entry.actorName,
  actorRole: ({ entry }) => entry.actorRole,
  sessionId: ({ entry }) => entry.sessionId,
  action: ({ entry }) => entry.action,
  category: ({ entry }) => categoryOf(entry.action),
  resourceType: ({ entry }) => entry.resourceType,
  resourceId: ({ entry }) => entry.resourceId,
  resourceName: ({ entry }) => entry.resourceName,
  result: ({ entry }) => entry.result,
  errorMessage: ({ entry }) => entry.errorMessage,
  ipAddress: ({ entry }) => entry.ipAddress,
  userAgent: ({ entry }) => entry.userAgent,
  details: ({ entry }) => JSON.stringify(entry.details),
  chainId: ({ entry }) => entry.chainId,
  seq: ({ seq }) => String(seq),
  checksum: ({ checksum }) => checksum,
  prevChecksum: ({ prevChecksum }) => prevChecksum,
  targets: ({ entry }) => (entry.targets === undefined ? null : JSON.stringify(entry.targets)),
};

const isColumn = (name: string): name is AuditCsvColumn => Object.hasOwn(cells, name);

export type CsvTable = { header: string; line(row: ChainRow): string };

/** Header and lines of these columns in this order, of all when none is named. Null when one is unknown. */
export function csvTable(names: readonly string[]): CsvTable | null {
  const chosen = names.length === 0 ? auditCsvColumns : names;
  if (!chosen.every(isColumn)) return null;
  const lineOf = (texts: readonly string[]) => `${texts.join(",")}\r\n`;
  return {
    header: lineOf(chosen),
    line: (row) => lineOf(chosen.map((name) => csvCell(cells[name](row)))),
  };
}
