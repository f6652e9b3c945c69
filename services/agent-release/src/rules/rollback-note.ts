import { NoteError, type NoteVerifier, openNote } from "@muster/kit";
import { z } from "zod";
import { type Component, components } from "./component.ts";
import { ManifestError, manifestMax } from "./manifest.ts";
import { parseVersion } from "./version.ts";

const shape = z.object({
  component: z.enum(components),
  version: z.string().transform((text, { addIssue }) => {
    const parsed = parseVersion(text);
    if (parsed === null) addIssue({ code: "custom", message: "Must be a semantic version" });
    return parsed ?? "";
  }),
  /** The highest counter that a device may have installed. */
  counter: z.int().min(0),
  /** `*`, or the id of the organization whose devices may go back. */
  scope: z.union([z.literal("*"), z.uuid().toLowerCase()]),
  expires: z.iso.datetime({ offset: true }),
});

/** A signed permission to install an older version, and its text. */
export type RollbackNote = z.output<typeof shape> & { text: string };

/** Reads a rollback note, signed by a manifest key. Throws ManifestError. */
export function openRollbackNote(text: string, keys: readonly NoteVerifier[]): RollbackNote {
  if (text.length > manifestMax) throw new ManifestError(`is longer than ${manifestMax} characters`);
  let json: unknown;
  try {
    json = JSON.parse(openNote(text, keys).text);
  } catch (error) {
    if (error instanceof NoteError) throw new ManifestError(`is ${error.message}`, true);
    throw new ManifestError("is not one line of JSON");
  }
  const parsed = shape.safeParse(json);
  if (parsed.success) return { ...parsed.data, text };
  const [issue] = parsed.error.issues;
  throw new ManifestError(`has a bad ${issue?.path.join(".") || "form"}`);
}

/** What a note is checked against. */
export type Rollback = { component: Component; version: string; orgId: string | null; now: Date };

/** Why a note does not permit this; null when it does. */
export function refusalOfNote(note: RollbackNote, { component, version, orgId, now }: Rollback): string | null {
  if (note.component !== component || note.version !== version) return `is for ${note.component} ${note.version}`;
  if (new Date(note.expires) <= now) return "has expired";
  return note.scope === "*" || note.scope === orgId ? null : "is for another organization";
}
