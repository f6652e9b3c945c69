import { type Claimed, type ClaimSource, displayName, emailOf, groupsOf } from "../claims.ts";
import { type AttributeMapping, defaultMapping, samlOids } from "../presets.ts";
import type { AssertionFacts } from "./assertion-error.ts";

export const emailFormat = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
/** Whichever the provider prefers. */
export const anyFormat = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";

/** Contexts by which a provider states that more than one factor was part of the sign-in. */
const manyFactors: ReadonlySet<string> = new Set([
  "http://schemas.microsoft.com/claims/multipleauthn",
  "https://refeds.org/profile/mfa",
  "urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorContract",
]);

export const contextSaysMfa = ({ statements }: AssertionFacts) =>
  statements.some(({ context }) => context !== null && manyFactors.has(context));

/** In place of more than 150 groups. */
const groupsLink = "http://schemas.microsoft.com/claims/groups.link";

/** How a provider's attributes are read: null is the default. */
export type Reading = { mapping: AttributeMapping | null; subjectAttribute: string | null };

/**
 * The user behind an assertion without errors. Without a configured mapping, attributes are read by their URIs and
 * `urn:oid` names; a configured mapping replaces these. A NameID that is an e-mail address stands in for a missing one.
 * SAML cannot express a verified address.
 */
export function samlUser({ nameId, attributes }: AssertionFacts, { mapping, subjectAttribute }: Reading): Claimed {
  const valuesOf = (field: keyof AttributeMapping): readonly string[] => {
    const names = mapping ? [mapping[field]] : [defaultMapping.saml[field], samlOids[field]];
    return (
      names.map((name) => (name == null ? undefined : attributes.get(name))).find((values) => values?.length) ?? []
    );
  };
  const plain: ClaimSource = {
    name: valuesOf("name")[0],
    firstName: valuesOf("firstName")[0],
    lastName: valuesOf("lastName")[0],
  };
  const named = nameId?.format === emailFormat ? nameId.value : null;
  const subject = subjectAttribute === null ? nameId?.value : attributes.get(subjectAttribute)?.[0];
  return {
    externalId: subject?.trim() ?? "",
    email: emailOf(valuesOf("email")[0] ?? named),
    emailVerified: null,
    name: displayName(plain, { email: "", name: "name", firstName: "firstName", lastName: "lastName" }),
    groups: groupsOf([...valuesOf("groups")]),
    ...(attributes.has(groupsLink) ? { groupsElsewhere: true as const } : {}),
  };
}

/** Attributes as the link keeps them. */
export const profileOf = ({ nameId, attributes }: AssertionFacts): Record<string, unknown> => ({
  nameId: nameId?.value ?? null,
  attributes: Object.fromEntries(attributes),
});
