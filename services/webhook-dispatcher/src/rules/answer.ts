import { isAscii } from "node:buffer";

const maxCharacters = 1_000;

/**
 * The first 1,000 characters of an answer's body, as PostgreSQL can keep them; a compressed body is only noted as such.
 */
export function answerText(body: Buffer, encoding: string | string[] | undefined): string | null {
  if (body.length === 0) return null;
  const name = String(encoding ?? "").trim();
  if (name !== "" && name.toLowerCase() !== "identity") return `[${name.slice(0, 40)}: not shown]`;
  // `stream`: a character truncated at the end is left out, not replaced. ASCII needs no decoder: creating one
  // costs more than decoding a short answer, and most are short.
  const decoded = isAscii(body) ? body.toString("latin1") : new TextDecoder().decode(body, { stream: true });
  const text = decoded.replaceAll("\0", "\ufffd");
  return text.length <= maxCharacters ? text : [...text].slice(0, maxCharacters).join("");
}

/** The error of a delivery to a refused address. */
export const unsafeMessage = "Unsafe webhook URL";
