import { visible } from "./table.ts";

/** What a spreadsheet would run as a formula. */
const formula = /^[=+\-@\t\r]/;

/** Rows as CSV (RFC 4180): a heading, then a line a row; lists and records are JSON. */
export function csvWriter(columns: readonly string[]): (rows: readonly object[]) => string {
  let isFirst = true;
  return (rows) => {
    const head = isFirst ? [columns] : [];
    isFirst = false;
    const lines = rows.map((row) => {
      const values = new Map(Object.entries(row));
      return columns.map((name) => textOf(values.get(name)));
    });
    return [...head, ...lines].map((line) => `${line.map(field).join(",")}\r\n`).join("");
  };
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return formula.test(text) ? `'${text}` : text;
}

const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : visible(text));
