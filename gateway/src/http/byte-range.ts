/** Bytes from `start` to before `end`. */
export type ByteRange = { start: number; end: number };

/**
 * The one range of a `Range` header (RFC 9110 section 14.1.2); "all" for no range, several ranges or a malformed one,
 * "beyond" when the range lies outside the file.
 */
export function byteRange(header: string | null, size: number): ByteRange | "all" | "beyond" {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return "all";
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "beyond" : { start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return "all";
  return start >= size ? "beyond" : { start, end: last === "" ? size : Math.min(size, Number(last) + 1) };
}
