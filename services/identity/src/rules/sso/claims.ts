import { longerThan, nameError, nameMax, textError } from "@muster/kit";
import { quoted } from "../quoted.ts";
import type { AttributeMapping } from "./presets.ts";

/** An identity provider's claims about a user. */
export type Claimed = {
  externalId: string;
  email: string | null;
  /** Null: not stated. */
  emailVerified: boolean | null;
  name: string | null;
  groups: string[];
  /** The provider sent an address of the groups in their place: there are too many for its answer. */
  groupsElsewhere?: true;
};

/** Claims that have an address. */
export type Addressed = Claimed & { email: string };

export type ClaimSource = Readonly<Record<string, unknown>>;

const maxGroups = 2_000;
const emailForm = /^[^\s@<>"]{1,64}@[^\s@<>"]{1,190}$/;

/**
 * The user behind OpenID Connect claims. E-mail and its verification come from one source, the first that has the
 * e-mail: one document's verification does not cover another's address. `email` mapped to another claim is never
 * verified. A source that denies the verification decides for all of them.
 */
export function oidcUser(sub: string, sources: readonly ClaimSource[], mapping: AttributeMapping): Claimed {
  const source = sources.find((claims) => emailOf(claims[mapping.email]) !== null) ?? {};
  const merged: ClaimSource = Object.assign({}, ...[...sources].reverse());
  return {
    externalId: sub,
    email: emailOf(source[mapping.email]),
    emailVerified: sources.some(deniesVerification) ? false : verifiedOf(source, mapping),
    name: displayName(merged, mapping),
    groups: groupsOf(mapping.groups === undefined ? undefined : merged[mapping.groups]),
    ...(hasGroupsElsewhere(merged, mapping) ? { groupsElsewhere: true as const } : {}),
  };
}

/** `name`, else first and last name; null when neither is a name that can be stored. */
export function displayName(claims: ClaimSource, mapping: AttributeMapping): string | null {
  const { firstName, lastName } = mapping;
  const parts = [firstName, lastName].map((claim) => (claim === undefined ? "" : textOf(claims[claim])));
  const candidates = [textOf(claims[mapping.name]), parts.filter((part) => part !== "").join(" ")];
  return candidates.map((text) => text.slice(0, nameMax)).find((text) => nameError(text) === null) ?? null;
}

/** Distributed claims (OpenID Connect Core, section 5.6.2), by which Entra answers beyond 200 groups. */
function hasGroupsElsewhere({ _claim_names: names, ...claims }: ClaimSource, { groups }: AttributeMapping): boolean {
  if (groups === undefined || claims[groups] !== undefined || typeof names !== "object" || names === null) return false;
  return Object.hasOwn(names, groups);
}

/** Strings alone, the first 2,000 of them. */
export function groupsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item): item is string => typeof item === "string" && !longerThan(item, 255)).slice(0, maxGroups);
}

export function emailOf(value: unknown): string | null {
  const text = textOf(value);
  return !longerThan(text, 255) && emailForm.test(text) && textError(text) === null ? text : null;
}

/** Why a claim is no e-mail address, for the provider's administrators. */
export function emailError(claim: string, value: unknown): string {
  if (value === undefined || value === null) return `the provider sent no claim ${quoted(claim)}`;
  if (typeof value !== "string") return `the claim ${quoted(claim)} is no text`;
  return `the claim ${quoted(claim)} is no e-mail address: ${textError(value) ?? quoted(value)}`;
}

const textOf = (value: unknown) => (typeof value === "string" ? value.trim() : "");

/** Some providers send a text or a number. Applies whichever claim the e-mail came from. */
const deniesVerification = ({ email_verified: said }: ClaimSource): boolean =>
  said === false || said === 0 || (typeof said === "string" && /^(false|0)$/i.test(said.trim()));

/** Only `true` or the text "true" counts, for the claim that it verifies. */
const verifiedOf = ({ email_verified: said }: ClaimSource, { email }: AttributeMapping): true | null =>
  email === "email" && (said === true || said === "true") ? true : null;
