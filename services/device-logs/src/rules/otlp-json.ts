import type { JsonValue } from "@bufbuild/protobuf";
import { OtlpBounds } from "./otlp-bounds.ts";

/** Ids are hexadecimal in OTLP's JSON, where protobuf's own has base64. */
const idBytes: Readonly<Record<string, number>> = { traceId: 16, spanId: 8 };

/**
 * A request in OTLP's JSON as protobuf's own JSON has it, and what it holds. An id that is not one is left out, as the
 * protocol wants it. Throws SyntaxError, and BoundsError when it holds too much.
 */
export function protobufJsonOf(text: string): { value: JsonValue; bounds: OtlpBounds } {
  const bounds = new OtlpBounds();
  const value: JsonValue = JSON.parse(text);
  adapt(value, 1, bounds);
  return { value, bounds };
}

function adapt(value: JsonValue, depth: number, bounds: OtlpBounds): void {
  if (typeof value !== "object" || value === null) return;
  bounds.enter(depth);
  if (Array.isArray(value)) {
    for (const inner of value) adapt(inner, depth + 1, bounds);
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    const length = idBytes[name];
    if (name === "logRecords" && Array.isArray(inner)) bounds.addRecords(inner.length);
    if (length !== undefined && typeof inner === "string") value[name] = base64Of(inner, length);
    else adapt(inner, depth + 1, bounds);
  }
}

function base64Of(hex: string, length: number): string {
  const bytes = /^[\da-f]*$/i.test(hex) ? Buffer.from(hex, "hex") : Buffer.alloc(0);
  return bytes.length === length && hex.length === 2 * length ? bytes.toString("base64") : "";
}
