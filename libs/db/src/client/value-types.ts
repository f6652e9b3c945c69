import pg from "pg";

const oid = {
  int8: 20,
  date: 1082,
  timestamp: 1114,
  int8Array: 1016,
  dateArray: 1182,
  timestampArray: 1115,
  textArray: 1009,
};

function safeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError("a bigint beyond 2^53 does not fit a number: select it as text");
  return value;
}

const asText = (text: string) => text;
const textArray = pg.types.getTypeParser(oid.textArray) as (text: string) => (string | null)[];

const parsers: Record<number, (text: string) => unknown> = {
  [oid.int8]: safeNumber,
  [oid.int8Array]: (text) => textArray(text).map((item) => (item === null ? null : safeNumber(item))),
  // A Date would put a calendar day or a time without zone into the process's own time zone.
  [oid.date]: asText,
  [oid.timestamp]: asText,
  [oid.dateArray]: textArray,
  [oid.timestampArray]: textArray,
};

/**
 * How values arrive: bigint as number (error beyond 2^53), date and numeric as text, timestamptz as Date, bytea as
 * Buffer.
 */
export const valueTypes = {
  getTypeParser(id: number, format?: "text" | "binary") {
    return (format !== "binary" && parsers[id]) || pg.types.getTypeParser(id, format);
  },
};
