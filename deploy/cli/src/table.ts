const cellMax = 80;
/** The id of a record that was not made, such as in the audit row of a refused change. */
const noRecord = "00000000-0000-0000-0000-000000000000";

/**
 * A value as one line of text. What devices and other tenants named may hold escape sequences: none
 * reaches the terminal.
 */
export function cell(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.map(cell).join(",");
  if (typeof value === "object") return visible(nameOf({ ...value }));
  return visible(String(value));
}

/**
 * Records inside of records, such as the user of an audit row or the health of a webhook; any other object is JSON,
 * since its `name` or `status` may be one field of many.
 */
function nameOf(record: Record<string, unknown>): string {
  const id = record.id === noRecord ? null : record.id;
  const named = Object.hasOwn(record, "id") ? (record.name ?? record.email ?? id ?? record.type) : null;
  const name = named ?? (Object.hasOwn(record, "reason") ? record.status : null);
  return typeof name === "string" && name !== "" ? name : JSON.stringify(record);
}

/** Joiners of emoji and of scripts whose letters they shape, and marks that change the direction of no other text. */
const shown = new RegExp(
  [
    String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?)\u200d(?=\p{Extended_Pictographic})`,
    String.raw`(?<=[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])`,
    String.raw`[\u200e\u200f]`,
    String.raw`([\p{Cc}\p{Cf}\p{Zl}\p{Zp}])`,
  ].join("|"),
  "gu",
);

/** Whitespace becomes a space; control and formatting characters that are no part of what is seen are escaped. */
export const visible = (text: string) =>
  text
    .replace(/\s+/gu, " ")
    .replace(shown, (each, hidden?: string) =>
      hidden === undefined ? each : `\\u{${hidden.codePointAt(0)?.toString(16)}}`,
    );

const cut = (text: string) => (text.length > cellMax ? `${text.slice(0, cellMax - 1)}…` : text);

/**
 * Lays rows out under the widths that the first call found; later rows may be wider, and then shift. The last column is
 * shown in whole: sentences and messages stand there.
 */
export function tableWriter(columns: readonly string[]): (rows: readonly object[]) => string {
  let widths: number[] | null = null;
  return (rows) => {
    const cells = rows.map((row) =>
      columns.map((name, index) => {
        const text = cell(Object.entries(row).find(([key]) => key === name)?.[1]);
        return index === columns.length - 1 ? text : cut(text);
      }),
    );
    const isFirst = widths === null;
    widths ??= columns.map((name, index) => Math.max(name.length, ...cells.map((line) => line[index]?.length ?? 0)));
    const fixed = widths;
    const lines = isFirst ? [columns.map((name) => name.toUpperCase()), ...cells] : cells;
    return lines
      .map(
        (line) =>
          `${line
            .map((text, index) => text.padEnd(fixed[index] ?? 0))
            .join("  ")
            .trimEnd()}\n`,
      )
      .join("");
  };
}

/** The health of a record with the sentence that says why. */
function detail(value: unknown): string {
  const { status, reason } = typeof value === "object" && value !== null ? { status: "", reason: "", ...value } : {};
  return typeof reason === "string" && reason !== "" && typeof status === "string" && status !== ""
    ? visible(`${status}: ${reason}`)
    : cell(value);
}

/** One record, a field a line. */
export function recordText(record: object): string {
  const entries = Object.entries(record);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${detail(value)}\n`).join("");
}
