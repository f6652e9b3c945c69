import { type KeyObject, X509Certificate } from "node:crypto";
import { quoted } from "../../rules/quoted.ts";
import type { StoredCertificate } from "../../rules/sso/provider.ts";
import { type AssertionFacts, assertionError, type Expected } from "../../rules/sso/saml/assertion-error.ts";
import { responseLimits } from "../../rules/sso/saml/byte-limits.ts";
import { SamlRefused, SamlStatus } from "../../rules/sso/saml/refused.ts";
import { decryptAssertion } from "./decrypt.ts";
import { readAssertion } from "./read-assertion.ts";
import { onlyAssertion } from "./shape.ts";
import { signedBytes } from "./signature.ts";
import {
  attribute,
  childrenNamed,
  isElement,
  onlyChild,
  optionalChild,
  textOf,
  withXml,
  type XmlElement,
} from "./xml.ts";

const success = "urn:oasis:names:tc:SAML:2.0:status:Success";
const parsing = { limits: responseLimits, validate: true };
/**
 * Signed bytes come from a validated document; their canonical form lacks prefixes that only values use, such as
 * `xs:string`.
 */
const reading = { limits: responseLimits, validate: false };
export type Verification = {
  expected: Expected;
  certificates: readonly StoredCertificate[];
  /** Our private keys, where assertions have to be encrypted for one of them; null where they must not be. */
  decryption: readonly KeyObject[] | null;
  now: Date;
};

/**
 * The content of the assertion in a SAML response, after all checks
 * (services/identity/single-sign-on.md#saml-responses). `text` is the form's `SAMLResponse`. Throws SamlRefused, and
 * SamlStatus when the provider reports a failed authentication.
 */
export function verifyResponse(text: string, verification: Verification): AssertionFacts {
  return factsIn(responseBytes(text), verification);
}

function responseBytes(text: string): Buffer {
  if (text === "") throw new SamlRefused("the form holds no SAMLResponse, or more than one");
  const base64 = text.replaceAll(/\r?\n/g, "");
  const size = Buffer.byteLength(base64, "base64");
  const { bytes: most } = responseLimits;
  if (size > most) throw new SamlRefused(`the response has ${size} bytes, at most ${most} are accepted`);
  const bytes = Buffer.from(base64, "base64");
  if (bytes.toString("base64") !== base64) throw new SamlRefused(`the response is not base64: ${base64Error(base64)}`);
  return bytes;
}

function base64Error(text: string): string {
  const end = text.search(/={0,2}$/);
  const at = text.slice(0, end).search(/[^A-Za-z0-9+/]/);
  if (at >= 0) {
    const code = (text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return `its character ${at + 1} is U+${code}`;
  }
  if (text.length % 4 !== 0) return `its ${text.length} characters are not whole groups of four`;
  return "its last group is not canonical";
}

function factsIn(bytes: Buffer, { expected, certificates, decryption, now }: Verification): AssertionFacts {
  const keys = validKeys(certificates, now);
  const signed = withXml(bytes, parsing, (root) => {
    requireEnvelope(root, expected);
    const assertion = onlyAssertion(root);
    const isEncrypted = isElement(assertion, "assertion", "EncryptedAssertion");
    if (isEncrypted !== (decryption !== null)) {
      throw new SamlRefused(
        isEncrypted ? "the assertion is encrypted, which is not set" : "the assertion is not encrypted",
      );
    }
    if (decryption === null) return signedBytes(assertion, keys);
    return withXml(decryptAssertion(assertion, decryption), parsing, (plain) =>
      signedBytes(requireAssertion(onlyAssertion(plain)), keys),
    );
  });
  const facts = withXml(signed, reading, (root) => readAssertion(requireAssertion(onlyAssertion(root))));
  const error = assertionError(facts, expected, now);
  if (error !== null) throw new SamlRefused(error);
  return facts;
}

/** The response around the assertion. Nothing of it is signed: it can only refuse. */
function requireEnvelope(root: XmlElement, { issuer, recipient, requestId }: Expected): void {
  if (!isElement(root, "protocol", "Response")) throw new SamlRefused("the document is no SAML response");
  if (attribute(root, "Version") !== "2.0") throw new SamlRefused("the response is not of SAML 2.0");
  const destination = attribute(root, "Destination");
  if (destination === null) throw new SamlRefused("the response has no Destination");
  if (destination !== recipient) {
    throw new SamlRefused(`the response is for another address: ${quoted(destination)}, expected ${quoted(recipient)}`);
  }
  const answered = attribute(root, "InResponseTo");
  if (answered === null) throw new SamlRefused("the response answers no request: it has no InResponseTo");
  if (answered !== requestId) throw new SamlRefused("the response answers another request");
  const named = optionalChild(root, "assertion", "Issuer");
  if (named !== null && textOf(named) !== issuer) {
    const found = `${quoted(textOf(named))}, expected ${quoted(issuer)}`;
    throw new SamlRefused(`the response is from another identity provider: ${found}`);
  }
  const codes = statusCodes(onlyChild(root, "protocol", "Status"));
  if (codes[0] !== success) throw new SamlStatus(codes.map((code) => code.split(":").at(-1)).join(", "));
}

/** The status code and its nested codes, outermost first. */
function statusCodes(holder: XmlElement): string[] {
  const [code] = childrenNamed(holder, "protocol", "StatusCode");
  return code ? [(attribute(code, "Value") ?? "").slice(0, 200), ...statusCodes(code)] : [];
}

function requireAssertion(element: XmlElement): XmlElement {
  if (!isElement(element, "assertion", "Assertion")) throw new SamlRefused("the assertion is encrypted twice");
  return element;
}

/** Keys of the certificates that are in their dates. */
function validKeys(certificates: readonly StoredCertificate[], now: Date): KeyObject[] {
  const isValid = ({ notBefore, notAfter }: StoredCertificate) =>
    Date.parse(notBefore) <= now.getTime() && now.getTime() < Date.parse(notAfter);
  return certificates.filter(isValid).map(({ pem }) => new X509Certificate(pem).publicKey);
}
