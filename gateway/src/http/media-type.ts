/** Longest media type that is looked at, parameters included; RFC 6838 allows names of 127 characters on each side. */
const maxLength = 256;
const application = "application/";
const subtype = /^[a-z0-9!#$&^_.+-]+$/;

/**
 * Whether a `Content-Type` is JSON in UTF-8: `application/json` or `application/*+json` (RFC 6839), with no parameter
 * but `charset=utf-8`. A type of more than 256 characters is not.
 */
export function isJsonType(contentType: string): boolean {
  return isUtf8Type(contentType, (name) => {
    return name === "json" || (name.length > "+json".length && name.endsWith("+json") && subtype.test(name));
  });
}

/** Whether the media type is `application/x-www-form-urlencoded`. */
export function isFormType(contentType: string): boolean {
  return isUtf8Type(contentType, (name) => name === "x-www-form-urlencoded");
}

/** The one of these media types that a `Content-Type` is, JSON by the rule of `isJsonType`; null when it is none. */
export function mediaTypeOf(contentType: string, accepted: readonly string[]): string | null {
  if (accepted.includes(jsonMediaType) && isJsonType(contentType)) return jsonMediaType;
  return accepted.find((type) => isUtf8Type(contentType, (name) => `${application}${name}` === type)) ?? null;
}

export const jsonMediaType = "application/json";

function isUtf8Type(contentType: string, isWanted: (name: string) => boolean): boolean {
  if (contentType.length > maxLength) return false;
  const [essence = "", ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase());
  if (!essence.startsWith(application) || !isWanted(essence.slice(application.length))) return false;
  const present = parameters.filter((parameter) => parameter !== "");
  return present.length <= 1 && present.every(isUtf8);
}

function isUtf8(parameter: string): boolean {
  const [name = "", value = "", ...more] = parameter.split("=").map((part) => part.trim());
  return name === "charset" && (value === "utf-8" || value === '"utf-8"') && more.length === 0;
}
