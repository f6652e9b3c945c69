import { type LogFilter, noFilter } from "./log-filter.ts";

export const exportKind = "audit.export";
/** Rows of a part at most. */
export const partRows = 10_000;
/** Days for which the parts of an export are kept after its end. */
export const keptDays = 7;
const dayMs = 86_400_000;

/** What requests can name: details are of ready-made searches. */
type RequestFilter = Omit<LogFilter, "details">;

/** The filters that a request names, times as ISO 8601. */
export type NamedFilter = Partial<Record<keyof RequestFilter, string | readonly string[]>>;

/** Input of an export job. */
export type ExportInput = {
  chainId: string;
  orgId: string | null;
  partnerId: string | null;
  filter: NamedFilter;
  createdBy: string;
};

/** The chain as it was when the export began: nothing after it is exported. */
export type ExportStart = { headSeq: number; headChecksum: string | null; baseSeq: number };

/** Where an export stands. */
export type ExportCursor = {
  start: ExportStart;
  /** The last row that a stored part accounts for; work continues behind it. */
  seq: number;
  /** The last row looked at. */
  seenSeq: number;
  rows: number;
  parts: number;
};

/** What is named of a filter. */
export function namedFilter(filter: LogFilter): NamedFilter {
  const named: NamedFilter = {};
  const { details: _, ...requested } = filter;
  for (const [name, value] of Object.entries(requested) as [
    keyof RequestFilter,
    RequestFilter[keyof RequestFilter],
  ][]) {
    if (value instanceof Date) named[name] = value.toISOString();
    else if (typeof value === "string" || (value !== null && value.length > 0)) named[name] = value;
  }
  return named;
}

/** The filter that was named. */
export function filterNamed(named: NamedFilter): LogFilter {
  const { from, to, ...others } = named;
  const time = (text: unknown) => (typeof text === "string" ? new Date(text) : null);
  return { ...noFilter, ...others, from: time(from), to: time(to) } as LogFilter;
}

export const isWholeChain = (named: NamedFilter): boolean => Object.keys(named).length === 0;

export const expiresAt = (finishedAt: Date): Date => new Date(finishedAt.getTime() + keptDays * dayMs);
