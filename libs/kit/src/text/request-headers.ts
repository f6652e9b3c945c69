import type { FieldErrors } from "../errors/app-error.ts";

export type RequestHeader = { key: string; value: string };

export const maxRequestHeaders = 20;
export const maxRequestHeaderLength = 2_000;
// RFC 9110, 5.6.2.
export const requestHeaderKey = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
export const requestHeaderText = /^[\t\x20-\x7e]*$/;
/** Headers of the product, of signatures, of the body and of the connection. */
const reserved =
  /^(x-service-.*|webhook-.*|content-.*|host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|http2-settings)$/i;

/** Whether a header is set by the platform alone. */
export function isReservedHeader(key: string): boolean {
  return reserved.test(key);
}

/** What is wrong with headers that users want on requests to their receivers, by field; empty when nothing is. */
export function requestHeaderErrors(headers: readonly RequestHeader[]): FieldErrors {
  const errors: FieldErrors = {};
  if (headers.length > maxRequestHeaders) errors.headers = [`At most ${maxRequestHeaders} headers`];
  const seen = new Set<string>();
  for (const [index, { key, value }] of headers.slice(0, maxRequestHeaders).entries()) {
    const name = key.toLowerCase();
    if (!requestHeaderKey.test(key)) errors[`headers.${index}.key`] = ["Not a header name"];
    else if (isReservedHeader(key)) errors[`headers.${index}.key`] = ["Reserved"];
    else if (seen.has(name)) errors[`headers.${index}.key`] = ["Given twice"];
    seen.add(name);
    if (value.length > maxRequestHeaderLength || !requestHeaderText.test(value)) {
      errors[`headers.${index}.value`] = [`At most ${maxRequestHeaderLength} ASCII characters`];
    }
  }
  return errors;
}
