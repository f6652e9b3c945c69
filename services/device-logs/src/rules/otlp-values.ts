import { storableText } from "@muster/kit";
import type { AnyValue, KeyValue } from "@muster/proto/opentelemetry/proto/common/v1/common_pb";
import { mendedText } from "./utf8.ts";

/** Changes a text into one that can be stored. */
export type TextOf = (text: string) => string;

/** For the texts of one request: those of a request with invalid UTF-8 were mended. */
export const textsOf = (replaced: number): TextOf =>
  replaced === 0 ? storableText : (text) => storableText(mendedText(text));

/** A value as JSON text: integers keep all digits, bytes are base64, what no JSON number is (NaN) is a text. */
export function valueJson(value: AnyValue | undefined, textOf: TextOf): string {
  const held = value?.value;
  switch (held?.case) {
    case "stringValue":
      return JSON.stringify(textOf(held.value));
    case "boolValue":
    case "intValue":
      return String(held.value);
    case "doubleValue":
      return Number.isFinite(held.value) ? String(held.value) : `"${held.value}"`;
    case "bytesValue":
      return `"${Buffer.from(held.value).toString("base64")}"`;
    case "arrayValue":
      return `[${held.value.values.map((each) => valueJson(each, textOf)).join(",")}]`;
    case "kvlistValue":
      return attributesJson(held.value.values, textOf);
    // Indices into a table that only profiles have: as if it were absent.
    case "stringValueStrindex":
    case undefined:
      return "null";
    default:
      return held satisfies never;
  }
}

/** Attributes as a JSON object; the last of equal keys holds once it is stored. */
export function attributesJson(attributes: readonly KeyValue[], textOf: TextOf): string {
  return `{${attributes.map(({ key, value }) => `${JSON.stringify(textOf(key))}:${valueJson(value, textOf)}`).join(",")}}`;
}

/** A value as text: a string as it is, others as JSON, nothing for an empty one. */
export function valueText(value: AnyValue | undefined, textOf: TextOf): string {
  if (value?.value.case === undefined) return "";
  return value.value.case === "stringValue" ? textOf(value.value.value) : valueJson(value, textOf);
}
