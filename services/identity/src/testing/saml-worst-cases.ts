import { createHash, createSign } from "node:crypto";
import { canonical, onlyChild, withXml } from "../crypto/saml/xml.ts";
import type { ByteLimits } from "../rules/sso/saml/byte-limits.ts";
import { assertionXml, excC14n, responseXml, type TestKey } from "./saml.ts";

const dsig = "http://www.w3.org/2000/09/xmldsig#";
const any = Number.POSITIVE_INFINITY;
const unlimited: ByteLimits = { bytes: any, elements: any, depth: any, attributes: any, attributesInAll: any };

/** A list of prefixes for the canonicalisation. */
const prefixList = (prefixes: string) =>
  prefixes === "" ? "" : `<x:InclusiveNamespaces xmlns:x="${excC14n}" PrefixList="${prefixes}"/>`;

/**
 * A response with a signed assertion of any size: signed by the canonicaliser under test, since the other library takes
 * minutes for a mebibyte.
 */
export function largeResponse(
  { privateKey }: Pick<TestKey, "privateKey">,
  attributes: string,
  { prefixes = "", infoPrefixes = "" }: { prefixes?: string; infoPrefixes?: string } = {},
): string {
  const bare = assertionXml({
    attributes: attributes === "" ? "" : `<saml:AttributeStatement>${attributes}</saml:AttributeStatement>`,
  });
  const digest = withXml(Buffer.from(bare), { limits: unlimited, validate: false }, (root) =>
    createHash("sha256").update(canonical(root, [])).digest("base64"),
  );
  const info = `<ds:SignedInfo><ds:CanonicalizationMethod Algorithm="${excC14n}">${prefixList(infoPrefixes)}</ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><ds:Reference URI="#_assertion-1"><ds:Transforms><ds:Transform Algorithm="${dsig}enveloped-signature"/><ds:Transform Algorithm="${excC14n}">${prefixList(prefixes)}</ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>${digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>`;
  const signature = (value: string) =>
    `<ds:Signature xmlns:ds="${dsig}">${info}<ds:SignatureValue>${value}</ds:SignatureValue></ds:Signature>`;
  const covered = withXml(Buffer.from(signature("")), { limits: unlimited, validate: false }, (root) =>
    canonical(onlyChild(root, "signature", "SignedInfo"), []),
  );
  const value = createSign("sha256").update(covered).sign(privateKey, "base64");
  return responseXml(bare.replace("</saml:Issuer>", `</saml:Issuer>${signature(value)}`));
}

const attribute = (values: string, name = "groups") => `<saml:Attribute Name="${name}">${values}</saml:Attribute>`;
const value = (text: string) => `<saml:AttributeValue>${text}</saml:AttributeValue>`;
const typed =
  '<saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">g</saml:AttributeValue>';
const numbered = (count: number, each: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => each(n)).join("");

/** Documents of up to a mebibyte that cost each part of the verification most; all within the limits. */
export const worstCases: Readonly<Record<string, (key: TestKey) => string>> = {
  "19,900 groups": (key) => largeResponse(key, attribute(value("group").repeat(19_900))),
  "6,300 typed groups": (key) => largeResponse(key, attribute(typed.repeat(6_300))),
  "9,900 attributes of one name": (key) => largeResponse(key, attribute(value("g")).repeat(9_900)),
  "9,900 attributes": (key) =>
    largeResponse(
      key,
      numbered(9_900, (n) => attribute(value("g"), `name-${n}`)),
    ),
  "one long value": (key) => largeResponse(key, attribute(value("x".repeat(1_000_000)))),
  "205,000 character references": (key) => largeResponse(key, attribute(value("&#65;".repeat(205_000)))),
  "80,000 prefixes to look up for 10,000 elements": (key) =>
    largeResponse(key, attribute(value("g").repeat(10_000)), { prefixes: numbered(80_000, (n) => `p${n} `) }),
  "140,000 prefixes in what is canonicalised before the signature is checked": (key) =>
    largeResponse(key, "", { infoPrefixes: numbered(140_000, (n) => `p${n} `) }),
  "80,000 attributes in namespaces": () =>
    responseXml(numbered(1_290, () => `<b xmlns:p="urn:p" ${numbered(61, (n) => `p:a${n}="&lt;" `)}/>`)),
  "17,000 elements below 1,500 namespaces": (key) => {
    const deep = numbered(25, (d) => `<e ${numbered(60, (n) => `xmlns:n${d}-${n}="u:${n}" `)}>`);
    return largeResponse(key, attribute(value(`${deep}${"<n0-0:a/>".repeat(17_000)}${"</e>".repeat(25)}`)));
  },
};
