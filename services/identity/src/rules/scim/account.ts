import { fieldsOf, hasFields, longerThan, nameError, nameMax } from "@muster/kit";
import { emailOf } from "../sso/claims.ts";
import type { ScimDocument } from "./document.ts";
import { enterpriseUrn } from "./schema.ts";

/** What an account takes from a directory's document. */
export type DirectoryAccount = {
  /** Null: the directory names none, and the account gets one that is nobody's mailbox. */
  email: string | null;
  name: string;
  department: string | null;
  active: boolean;
};

/** The account of a user's document: address by the primary e-mail, else that of type work, else the user's name. */
export function accountOf(document: ScimDocument): DirectoryAccount {
  const userName = textOf(document.userName);
  return {
    email: emailIn(document) ?? emailOf(userName),
    name: nameIn(document) ?? "Unnamed",
    department: departmentIn(document),
    active: document.active !== false,
  };
}

function emailIn({ emails }: ScimDocument): string | null {
  const all = Array.isArray(emails) ? emails.filter(hasFields) : [];
  const chosen = all.find(({ primary }) => primary === true) ?? all.find(({ type }) => isWork(type)) ?? all[0];
  return emailOf(chosen?.value);
}

const isWork = (type: unknown) => typeof type === "string" && type.toLowerCase() === "work";

function nameIn(document: ScimDocument): string | null {
  const { displayName, userName } = document;
  const name = fieldsOf(document.name);
  const parts = [name.givenName, name.familyName].map(textOf).filter((part) => part !== "");
  const candidates = [textOf(displayName), textOf(name.formatted), parts.join(" "), textOf(userName)];
  return candidates.map((text) => text.slice(0, nameMax)).find((text) => nameError(text) === null) ?? null;
}

function departmentIn(document: ScimDocument): string | null {
  const department = textOf(fieldsOf(document[enterpriseUrn]).department);
  return department === "" || longerThan(department, 255) || nameError(department) !== null ? null : department;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");

/** The address of an account whose directory names none: unique, and nobody's mailbox (RFC 2606). */
export const placeholderEmail = (userId: string): string => `${userId}@directory.invalid`;

/** Addresses for look-ups: all e-mails of the document, in lower case. */
export function emailsOf({ emails }: ScimDocument): string[] {
  const all = Array.isArray(emails) ? emails.filter(hasFields) : [];
  return [...new Set(all.map(({ value }) => textOf(value).toLowerCase()).filter((value) => value !== ""))];
}
