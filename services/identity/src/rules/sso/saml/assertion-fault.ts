/** The content of an assertion, times as it writes them. */
export type AssertionFacts = {
  id: string;
  version: string;
  issueInstant: string;
  issuer: string;
  /** Null: the subject has none. */
  nameId: { value: string; format: string | null } | null;
  confirmations: {
    method: string;
    recipient: string | null;
    notBefore: string | null;
    notOnOrAfter: string | null;
    inResponseTo: string | null;
  }[];
  conditions: {
    notBefore: string | null;
    notOnOrAfter: string | null;
    /** Of each restriction. */
    audiences: string[][];
    hasUnknown: boolean;
  };
  statements: { sessionNotOnOrAfter: string | null; context: string | null }[];
  attributes: ReadonlyMap<string, readonly string[]>;
};

/** The expected issuer and audience of an assertion. */
export type Expected = {
  /** Entity id of the identity provider. */
  issuer: string;
  /** Ours, of this provider and this deployment. */
  audience: string;
  /** Address that assertions are sent to. */
  recipient: string;
  /** Id of the request that it answers. */
  requestId: string;
  /** Attribute that identifies the user in place of the NameID, or null. */
  subjectAttribute: string | null;
};

/** Milliseconds that clocks may differ. */
export const skewMs = 60_000;
/** An assertion answers one sign-in, which lives for ten minutes. */
export const assertionLifeMs = 10 * 60_000;

const bearer = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
const transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const maxSubject = 1_024;
const utc = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/;

/** Milliseconds since 1970 of an xs:dateTime in UTC, as SAML wants them; NaN for anything else. */
const timeOf = (text: string | null) => (text !== null && utc.test(text) ? Date.parse(text) : Number.NaN);

/**
 * Why an assertion with a valid signature is refused, or null. NaN fails each comparison: an unreadable time counts as
 * out of its window.
 */
export function assertionFault(facts: AssertionFacts, expected: Expected, now: Date): string | null {
  const isBefore = (text: string | null) => timeOf(text) <= now.getTime() + skewMs;
  const isAfter = (text: string | null) => timeOf(text) > now.getTime() - skewMs;
  const { conditions } = facts;
  if (facts.version !== "2.0") return "the assertion is not of SAML 2.0";
  if (facts.issuer !== expected.issuer) return "the assertion is from another identity provider";
  if (!isBefore(facts.issueInstant)) return "the assertion is from the future";
  if (!(timeOf(facts.issueInstant) > now.getTime() - skewMs - assertionLifeMs))
    return "the assertion is older than 10 minutes";

  const unidentified = subjectFault(facts, expected.subjectAttribute);
  if (unidentified !== null) return unidentified;
  const ours = facts.confirmations.filter(({ method }) => method === bearer);
  if (ours.length === 0) return "the subject has no bearer confirmation";
  if (!ours.some(({ recipient }) => recipient === expected.recipient)) return "the assertion is for another address";
  const answers = ours.filter(
    ({ recipient, inResponseTo }) => recipient === expected.recipient && inResponseTo === expected.requestId,
  );
  if (answers.length === 0) return "the assertion answers another request, or none";
  if (!answers.some(({ notBefore, notOnOrAfter }) => notBefore === null && isAfter(notOnOrAfter))) {
    return "the assertion arrived too late";
  }

  if (conditions.hasUnknown) return "the assertion has a condition that is not known";
  if (conditions.notBefore !== null && !isBefore(conditions.notBefore)) return "the assertion does not hold yet";
  if (!isAfter(conditions.notOnOrAfter)) return "the assertion does not hold any more";
  if (conditions.audiences.length === 0) return "the assertion is for no audience";
  if (!conditions.audiences.every((audience) => audience.includes(expected.audience))) {
    return "the assertion is for another audience";
  }

  if (facts.statements.length === 0) return "the assertion says nothing of a sign-in";
  const isOver = ({ sessionNotOnOrAfter: end }: { sessionNotOnOrAfter: string | null }) =>
    end !== null && !isAfter(end);
  return facts.statements.some(isOver) ? "the provider's own session has ended" : null;
}

/** Why the assertion does not identify one user for good, or null. */
function subjectFault({ nameId, attributes }: AssertionFacts, name: string | null): string | null {
  const hasLength = (text: string) => text.trim() !== "" && text.length <= maxSubject;
  if (name !== null) {
    const [value, ...more] = attributes.get(name) ?? [];
    if (value === undefined) return `the assertion lacks the attribute ${name}, which identifies users here`;
    if (more.length > 0) return `the attribute ${name} has ${more.length + 1} values, and must have one`;
    return hasLength(value) ? null : `the attribute ${name} must have 1 to 1024 characters`;
  }
  if (nameId === null) return "the subject has no NameID: let the provider send one, or set subjectAttribute";
  if (!hasLength(nameId.value)) return "the NameID must have 1 to 1024 characters";
  if (nameId.format !== transient) return null;
  return "the NameID is transient: it does not identify the same user again; let the provider send another, or set subjectAttribute";
}
