import type { AssertionFacts } from "../../rules/sso/saml/assertion-error.ts";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import {
  attribute,
  childrenNamed,
  childrenOf,
  everyElement,
  isElement,
  onlyChild,
  optionalChild,
  textOf,
  type XmlElement,
} from "./xml.ts";

const supportedConditions = ["AudienceRestriction", "OneTimeUse", "ProxyRestriction"];

/**
 * The content of an assertion, read by exact path; its document was validated against the schema. Throws SamlRefused.
 */
export function readAssertion(assertion: XmlElement): AssertionFacts {
  const subject = onlyChild(assertion, "assertion", "Subject");
  const names = everyElement(subject).filter(({ name }) => ["NameID", "BaseID", "EncryptedID"].includes(name));
  const nameId = optionalChild(subject, "assertion", "NameID");
  if (names.length !== (nameId === null ? 0 : 1)) throw new SamlRefused("the subject must hold one NameID, or none");
  const conditions = onlyChild(assertion, "assertion", "Conditions");
  const isSupported = (each: XmlElement) => supportedConditions.some((name) => isElement(each, "assertion", name));
  return {
    id: attribute(assertion, "ID") ?? "",
    version: attribute(assertion, "Version") ?? "",
    issueInstant: attribute(assertion, "IssueInstant") ?? "",
    issuer: textOf(onlyChild(assertion, "assertion", "Issuer")),
    nameId: nameId && { value: textOf(nameId), format: attribute(nameId, "Format") },
    confirmations: childrenNamed(subject, "assertion", "SubjectConfirmation").map((each) => {
      const data = optionalChild(each, "assertion", "SubjectConfirmationData");
      const of = (name: string) => (data === null ? null : attribute(data, name));
      return {
        method: attribute(each, "Method") ?? "",
        recipient: of("Recipient"),
        notBefore: of("NotBefore"),
        notOnOrAfter: of("NotOnOrAfter"),
        inResponseTo: of("InResponseTo"),
      };
    }),
    conditions: {
      notBefore: attribute(conditions, "NotBefore"),
      notOnOrAfter: attribute(conditions, "NotOnOrAfter"),
      audiences: childrenNamed(conditions, "assertion", "AudienceRestriction").map((restriction) =>
        childrenNamed(restriction, "assertion", "Audience").map(textOf),
      ),
      hasUnknown: !childrenOf(conditions).every(isSupported),
    },
    statements: childrenNamed(assertion, "assertion", "AuthnStatement").map((statement) => {
      const context = onlyChild(statement, "assertion", "AuthnContext");
      const reference = optionalChild(context, "assertion", "AuthnContextClassRef");
      return {
        sessionNotOnOrAfter: attribute(statement, "SessionNotOnOrAfter"),
        context: reference === null ? null : textOf(reference),
      };
    }),
    attributes: attributesOf(assertion),
  };
}

/**
 * Values by the attribute's name; a repeated attribute has the values of both. A value is plain text or one NameID, as
 * eduPersonTargetedID is written; others are skipped.
 */
function attributesOf(assertion: XmlElement): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const statement of childrenNamed(assertion, "assertion", "AttributeStatement")) {
    for (const each of childrenNamed(statement, "assertion", "Attribute")) {
      const name = attribute(each, "Name") ?? "";
      const texts = found.get(name) ?? [];
      if (texts.length === 0) found.set(name, texts);
      for (const value of childrenNamed(each, "assertion", "AttributeValue")) texts.push(...textsIn(value));
    }
  }
  return found;
}

function textsIn(value: XmlElement): string[] {
  const [child, ...more] = childrenOf(value);
  if (!child) return [textOf(value)];
  if (more.length > 0 || !isElement(child, "assertion", "NameID") || childrenOf(child).length > 0) return [];
  return [textOf(child)];
}
