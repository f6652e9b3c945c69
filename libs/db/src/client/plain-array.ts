type Plain = string | number | boolean | Date | null;

/**
 * A parameter for an array of uuid, a number, boolean or timestamptz, whose elements need no quotes; not for text. pg
 * would quote and escape each and write dates part by part, which costs a batch of rows more than all else that is done
 * to send it.
 */
export function plainArray(values: readonly Plain[]): string {
  return `{${values.map(element).join(",")}}`;
}

function element(value: Plain): string {
  if (value === null) return "NULL";
  const text = value instanceof Date ? value.toISOString() : String(value);
  if (typeof value === "string" && !/^[\w-]+$/.test(text)) throw new TypeError("not a plain value");
  return text;
}
