import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import { childrenNamed, everyElement, isElement, type XmlElement } from "./xml.ts";

const idNames = ["id", "Id", "ID"];

/**
 * The one assertion of a response, or of a document that is an assertion; no other element could be mistaken for it.
 * Signatures are direct children of the response and the assertion, at most one each; every ID is unique. Throws
 * SamlRefused.
 */
export function onlyAssertion(root: XmlElement): XmlElement {
  const isAssertion = (element: XmlElement) =>
    isElement(element, "assertion", "Assertion") || isElement(element, "assertion", "EncryptedAssertion");
  const all = everyElement(root);
  const [assertion, ...more] = all.filter(isAssertion);
  if (!assertion || more.length > 0) throw new SamlRefused("a response must hold one assertion, and none elsewhere");
  const isBelowRoot = isElement(root, "protocol", "Response") && assertion.parent?.isSameNode(root) === true;
  if (!isBelowRoot && !assertion.isSameNode(root))
    throw new SamlRefused("the assertion must stand right in the response");
  for (const element of all) {
    const isForeign =
      isElement(element, "protocol", "Extensions") ||
      isElement(element, "assertion", "Advice") ||
      isElement(element, "signature", "Object");
    if (isForeign) throw new SamlRefused(`${element.name} is refused`);
    if (!isElement(element, "signature", "Signature")) continue;
    const { parent } = element;
    if (!parent || !(parent.isSameNode(root) || parent.isSameNode(assertion))) {
      throw new SamlRefused("a signature must stand right in the response or in the assertion");
    }
    if (childrenNamed(parent, "signature", "Signature").length > 1) throw new SamlRefused("more than one signature");
  }
  requireUniqueIds(all);
  return assertion;
}

/** IDs under every attribute name that some library treats as an ID. */
function requireUniqueIds(elements: readonly XmlElement[]): void {
  const ids = elements.flatMap((element) =>
    element.attrs.filter(({ name }) => idNames.includes(name)).map(({ value }) => value),
  );
  if (new Set(ids).size < ids.length) throw new SamlRefused("an ID stands twice");
}
