import { createHash, type KeyObject, timingSafeEqual } from "node:crypto";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import { digestOf, verifierOf } from "./algorithms.ts";
import {
  attribute,
  bytesIn,
  canonical,
  childrenOf,
  isElement,
  ns,
  onlyChild,
  optionalChild,
  type XmlElement,
} from "./xml.ts";

const enveloped = `${ns.signature}enveloped-signature`;
/** The canonicaliser looks up each of them at every element. */
const maxPrefixes = 64;

/**
 * The bytes of an assertion that its own signature covers: canonical, without the signature. All values of the
 * assertion are read from these. Keys come only from the provider's certificates; keys in the document are ignored.
 * Throws SamlRefused.
 */
export function signedBytes(assertion: XmlElement, keys: readonly KeyObject[]): Buffer {
  const signature = optionalChild(assertion, "signature", "Signature");
  if (!signature) throw new SamlRefused("the assertion is not signed");
  const info = onlyChild(signature, "signature", "SignedInfo");
  const { digest, digestValue, prefixes } = referenceTo(info, attribute(assertion, "ID"));
  const verify = verifierOf(algorithm(onlyChild(info, "signature", "SignatureMethod")));
  if (!verify) throw new SamlRefused("the signature's algorithm is not accepted");
  const signed = canonical(info, prefixesOf(onlyChild(info, "signature", "CanonicalizationMethod")));
  const value = bytesIn(onlyChild(signature, "signature", "SignatureValue"));
  if (!keys.some((key) => verify(signed, value, key))) {
    throw new SamlRefused("no certificate of the provider that is valid now made the signature", {
      isUnknownKey: true,
    });
  }
  signature.remove();
  const covered = canonical(assertion, prefixes);
  const sum = createHash(digest).update(covered).digest();
  if (sum.length !== digestValue.length || !timingSafeEqual(sum, digestValue)) {
    throw new SamlRefused("the assertion was changed after it was signed");
  }
  return covered;
}

/** The one reference of a signature: to the signature's parent element, enveloped and exclusively canonical. */
function referenceTo(info: XmlElement, id: string | null) {
  const reference = onlyChild(info, "signature", "Reference");
  if (id === null || id === "" || attribute(reference, "URI") !== `#${id}`) {
    throw new SamlRefused("the signature is not the assertion's own");
  }
  const transforms = childrenOf(onlyChild(reference, "signature", "Transforms"));
  const [first, second, ...others] = transforms;
  if (!first || !second || others.length > 0 || attribute(first, "Algorithm") !== enveloped || !holdsNoPath(first)) {
    throw new SamlRefused("the signature's transforms are not accepted");
  }
  const digest = digestOf(algorithm(onlyChild(reference, "signature", "DigestMethod")));
  if (digest === null) throw new SamlRefused("the signature's digest is not accepted");
  return {
    digest,
    digestValue: bytesIn(onlyChild(reference, "signature", "DigestValue")),
    prefixes: prefixesOf(second),
  };
}

/** Some libraries repeat the prefixes of the canonicalisation in the other transform, where they have no effect. */
const holdsNoPath = (transform: XmlElement) =>
  childrenOf(transform).every((child) => child.name === "InclusiveNamespaces" && childrenOf(child).length === 0);

/** The algorithm of an element that holds no parameters. */
function algorithm(element: XmlElement): string | null {
  if (childrenOf(element).length > 0) throw new SamlRefused(`${element.name} must be empty`);
  return attribute(element, "Algorithm");
}

/** Prefixes that an exclusive canonicalisation is to keep. Throws SamlRefused for any other canonicalisation. */
function prefixesOf(method: XmlElement): string[] {
  if (attribute(method, "Algorithm") !== ns.exclusive) {
    throw new SamlRefused("the signature's canonicalisation is not accepted");
  }
  const [list, ...more] = childrenOf(method);
  if (!list) return [];
  if (more.length > 0 || !isElement(list, "exclusive", "InclusiveNamespaces") || childrenOf(list).length > 0) {
    throw new SamlRefused("the signature's canonicalisation is not accepted");
  }
  const prefixes = (attribute(list, "PrefixList") ?? "").split(/[\t\n\r ]+/).filter((prefix) => prefix !== "");
  const distinct = [...new Set(prefixes)];
  if (distinct.length <= maxPrefixes) return distinct;
  throw new SamlRefused(`the signature names ${distinct.length} prefixes, at most ${maxPrefixes} are accepted`);
}
