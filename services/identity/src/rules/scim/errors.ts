import { AppError } from "@muster/kit";

/** Why a request is refused, in the words of RFC 7644, table 9. */
export type ScimType =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue";

/** 400 with a `scimType` and one sentence for the administrator of the directory. */
export const scimInvalid = (scimType: Exclude<ScimType, "uniqueness">, sentence: string): AppError =>
  new AppError("scim_invalid", sentence, { facts: { scimType } });

/** 409: another resource of the directory, or a user of the tenant, has this value. */
export const scimTaken = (sentence: string): AppError =>
  new AppError("scim_uniqueness", sentence, { facts: { scimType: "uniqueness" } });

/** 404, the same for another directory's resource and for one that does not exist. */
export const scimNotFound = (): AppError => new AppError("scim_resource_not_found", "No such resource");

/** A value of the client, short enough for an error's sentence. */
export const shown = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};
