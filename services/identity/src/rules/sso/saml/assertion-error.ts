import { longerThan } from "@muster/kit";
import { quoted } from "../../quoted.ts";

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
  /** Attribute that identifies the user instead of the NameID, or null. */
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
const timeOf = (text: string) => (utc.test(text) ? Date.parse(text) : Number.NaN);

/** Something else than what was expected. */
const otherThan = (wanted: string, ...found: readonly string[]) => `${quoted(...found)}, expected ${quoted(wanted)}`;

/** Why an assertion with a valid signature is refused, or null: a sentence that says what was found. */
export function assertionError(facts: AssertionFacts, expected: Expected, now: Date): string | null {
  const clock = clockAt(now);
  return (
    originError(facts, expected, clock) ??
    subjectError(facts, expected.subjectAttribute) ??
    confirmationsError(facts, expected, clock) ??
    conditionsError(facts, expected, clock) ??
    statementsError(facts, clock)
  );
}

/** Checks a time under its name, with the skew that clocks may have. */
type Clock = {
  now: number;
  /** Why it is not in the past. */
  began(name: string, text: string | null, otherwise: string): string | null;
  /** Why it is not in the future. */
  ends(name: string, text: string | null, otherwise: string): string | null;
};

function clockAt(date: Date): Clock {
  const now = date.getTime();
  const check = (holds: (ms: number) => boolean) => (name: string, text: string | null, otherwise: string) => {
    if (text === null) return `${name} is missing`;
    const ms = timeOf(text);
    if (Number.isNaN(ms)) return `${name} must be in UTC and end in Z, as SAML writes times: ${quoted(text)}`;
    return holds(ms) ? null : `${otherwise}: ${name} is ${text}, it is ${date.toISOString()}`;
  };
  return { now, began: check((ms) => ms <= now + skewMs), ends: check((ms) => ms > now - skewMs) };
}

function originError({ version, issuer, issueInstant }: AssertionFacts, expected: Expected, clock: Clock) {
  if (version !== "2.0") return `the assertion is not of SAML 2.0: ${quoted(version)}`;
  if (issuer !== expected.issuer) {
    return `the assertion is from another identity provider: ${otherThan(expected.issuer, issuer)}`;
  }
  const early = clock.began("IssueInstant", issueInstant, "the assertion is from the future");
  if (early !== null) return early;
  return timeOf(issueInstant) > clock.now - skewMs - assertionLifeMs
    ? null
    : `the assertion is older than 10 minutes: IssueInstant is ${issueInstant}`;
}

function confirmationsError({ confirmations }: AssertionFacts, expected: Expected, clock: Clock): string | null {
  const ours = confirmations.filter(({ method }) => method === bearer);
  if (ours.length === 0) return "the subject has no bearer confirmation";
  const named = ours.flatMap(({ recipient }) => recipient ?? []);
  if (named.length === 0) return "the subject's confirmation has no Recipient";
  const toUs = ours.filter(({ recipient }) => recipient === expected.recipient);
  if (toUs.length === 0) return `the assertion is for another address: ${otherThan(expected.recipient, ...named)}`;
  if (toUs.every(({ inResponseTo }) => inResponseTo === null)) return "the assertion answers no request";
  const answers = toUs.filter(({ inResponseTo }) => inResponseTo === expected.requestId);
  if (answers.length === 0) return "the assertion answers another request";
  const errors = answers.map(({ notBefore, notOnOrAfter }) =>
    notBefore !== null
      ? "the subject's confirmation has a NotBefore, which SAML forbids"
      : clock.ends("NotOnOrAfter of the subject's confirmation", notOnOrAfter, "the assertion arrived too late"),
  );
  return errors.includes(null) ? null : (errors[0] ?? null);
}

function conditionsError({ conditions }: AssertionFacts, expected: Expected, clock: Clock): string | null {
  const { notBefore, notOnOrAfter, audiences, hasUnknown } = conditions;
  if (hasUnknown) return "the assertion has a condition that is not known";
  const early =
    notBefore === null ? null : clock.began("NotBefore of Conditions", notBefore, "the assertion does not hold yet");
  const late = clock.ends("NotOnOrAfter of Conditions", notOnOrAfter, "the assertion does not hold any more");
  if (early !== null || late !== null) return early ?? late;
  if (audiences.length === 0) return "the assertion is for no audience";
  const other = audiences.find((audience) => !audience.includes(expected.audience));
  return other ? `the assertion is for another audience: ${otherThan(expected.audience, ...other)}` : null;
}

function statementsError({ statements }: AssertionFacts, clock: Clock): string | null {
  if (statements.length === 0) return "the assertion says nothing of a sign-in";
  const errors = statements.map(({ sessionNotOnOrAfter: end }) =>
    end === null ? null : clock.ends("SessionNotOnOrAfter", end, "the provider's own session has ended"),
  );
  return errors.find((error) => error !== null) ?? null;
}

/** Why the assertion does not identify one user for good, or null. */
function subjectError({ nameId, attributes }: AssertionFacts, name: string | null): string | null {
  const hasLength = (text: string) => text.trim() !== "" && !longerThan(text, maxSubject);
  if (name !== null) {
    const [value, ...more] = attributes.get(name) ?? [];
    if (value === undefined) return `the assertion lacks the attribute ${name}, which identifies users here`;
    if (more.length > 0) return `the attribute ${name} has ${more.length + 1} values, and must have one`;
    return hasLength(value)
      ? null
      : `the attribute ${name} must have 1 to ${maxSubject} characters, it has ${[...value.trim()].length}`;
  }
  if (nameId === null) return "the subject has no NameID: let the provider send one, or set subjectAttribute";
  if (!hasLength(nameId.value)) {
    return `the NameID must have 1 to ${maxSubject} characters, it has ${[...nameId.value.trim()].length}`;
  }
  if (nameId.format !== transient) return null;
  return "the NameID is transient: it does not identify the same user again; let the provider send another, or set subjectAttribute";
}
