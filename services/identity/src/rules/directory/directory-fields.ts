import { AppError, type FieldErrors, isUuid, nameError, validationError } from "@muster/kit";
import type { DirectoryInput } from "@muster/proto/muster/identity/v1/directory_pb";
import { isPreset } from "./presets.ts";

/** What administrators set of a directory, validated; null is absent. */
export type DirectoryFields = {
  name: string;
  preset: string | null;
  providerId: string | null;
  defaultRoleId: string | null;
};

const byPath: Readonly<Record<string, keyof DirectoryFields>> = {
  name: "name",
  preset: "preset",
  provider_id: "providerId",
  default_role_id: "defaultRoleId",
};

/** All fields of a new directory. Throws `validation_failed`. */
export const newDirectoryFields = (input: DirectoryInput): DirectoryFields =>
  checked(input, Object.values(byPath)) as DirectoryFields;

/** The fields that a mask names. Throws `no_updates` when it names none, `validation_failed`. */
export function directoryChange(paths: readonly string[], input: DirectoryInput): Partial<DirectoryFields> {
  const fields = paths.flatMap((path) => byPath[path] ?? []);
  if (fields.length === 0) throw new AppError("no_updates", "No updates provided");
  return checked(input, fields);
}

function checked(input: DirectoryInput, fields: readonly (keyof DirectoryFields)[]): Partial<DirectoryFields> {
  const errors: FieldErrors = {};
  const error = fields.includes("name") ? nameError(input.name) : null;
  if (error) errors.name = [error];
  if (fields.includes("preset") && input.preset !== "" && !isPreset(input.preset)) errors.preset = ["Unknown preset"];
  for (const field of ["providerId", "defaultRoleId"] as const) {
    if (fields.includes(field) && input[field] !== "" && !isUuid(input[field])) errors[field] = ["Must be a UUID"];
  }
  if (Object.keys(errors).length > 0) throw validationError(errors);
  const read = (field: keyof DirectoryFields) => (field === "name" ? input.name : input[field].toLowerCase() || null);
  return Object.fromEntries(fields.map((field) => [field, read(field)]));
}
