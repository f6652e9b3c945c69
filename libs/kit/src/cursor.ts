import { validationError } from "./app-error.ts";

/** An opaque list position: the sort key of the last row shown, as base64url JSON. */
export function encodeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** Reads a cursor made by encodeCursor with as many string parts; anything else is a 400 on `cursor`. */
export function decodeCursor(cursor: string, length: number): string[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (Array.isArray(parts) && parts.length === length && parts.every((p) => typeof p === "string")) return parts;
  } catch {
    // Not JSON: answered like every other malformed cursor.
  }
  throw validationError({ cursor: ["Not a cursor of this list"] });
}
