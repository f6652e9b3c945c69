import { createHash, createSign, randomBytes } from "node:crypto";
import { inflateRawSync } from "node:zlib";

const assertionNs = "urn:oasis:names:tc:SAML:2.0:assertion";
const dsig = "http://www.w3.org/2000/09/xmldsig#";
const exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#";

/** A SAML request as the provider sees it. */
export function requestIn(location: string) {
  const { searchParams } = new URL(location);
  const xml = inflateRawSync(Buffer.from(searchParams.get("SAMLRequest") ?? "", "base64")).toString();
  const of = (pattern: RegExp) => pattern.exec(xml)?.[1] ?? "";
  return {
    id: of(/ ID="([^"]+)"/),
    acsUrl: of(/AssertionConsumerServiceURL="([^"]+)"/),
    audience: of(/Issuer>([^<]+)</),
    state: searchParams.get("RelayState") ?? "",
  };
}

/**
 * A signed response of about `bytes`, as base64. Everything is written in canonical form at once, so that signing costs
 * the load generator little: the figure is that of verification.
 */
export function responseTo(
  request: ReturnType<typeof requestIn>,
  { issuer, privateKey, email, bytes }: { issuer: string; privateKey: string; email: string; bytes: number },
): string {
  const id = `_${randomBytes(16).toString("hex")}`;
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const padding =
    '<saml:Attribute Name="group"><saml:AttributeValue>a group of the bench</saml:AttributeValue></saml:Attribute>';
  const body = `<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">${email}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData InResponseTo="${request.id}" NotOnOrAfter="${at(300_000)}" Recipient="${request.acsUrl}"></saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${at(-60_000)}" NotOnOrAfter="${at(300_000)}"><saml:AudienceRestriction><saml:Audience>${request.audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="${at(0)}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>${padding.repeat(Math.max(1, Math.round((bytes - 3_000) / padding.length)))}</saml:AttributeStatement></saml:Assertion>`;
  const open = `<saml:Assertion xmlns:saml="${assertionNs}" ID="${id}" IssueInstant="${at(0)}" Version="2.0"><saml:Issuer>${issuer}</saml:Issuer>`;
  const digest = createHash("sha256").update(`${open}${body}`).digest("base64");
  const info = `<ds:SignedInfo xmlns:ds="${dsig}"><ds:CanonicalizationMethod Algorithm="${exclusive}"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"></ds:SignatureMethod><ds:Reference URI="#${id}"><ds:Transforms><ds:Transform Algorithm="${dsig}enveloped-signature"></ds:Transform><ds:Transform Algorithm="${exclusive}"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></ds:DigestMethod><ds:DigestValue>${digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>`;
  const value = createSign("sha256").update(info).sign(privateKey, "base64");
  const signature = `<ds:Signature xmlns:ds="${dsig}">${info}<ds:SignatureValue>${value}</ds:SignatureValue></ds:Signature>`;
  const response = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" Destination="${request.acsUrl}" ID="_${randomBytes(16).toString("hex")}" InResponseTo="${request.id}" IssueInstant="${at(0)}" Version="2.0"><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"></samlp:StatusCode></samlp:Status>${open}${signature}${body}</samlp:Response>`;
  return Buffer.from(response).toString("base64");
}

/** Documents within the byte limits that cost a parser and a canonicaliser most. */
export const worstCases: Readonly<Record<string, string>> = {
  "600 elements of 61 attributes": `<a>${Array.from({ length: 600 }, (_, n) => `<b xmlns:p${n}="urn:p${n}" ${Array.from({ length: 60 }, (_each, at) => `p${n}:a${at}="&lt;"`).join(" ")}/>`).join("")}</a>`,
  "31 levels, 300 times": `<a>${`${Array.from({ length: 31 }, (_, n) => `<d${n} xmlns:n${n}="urn:${n}">`).join("")}${Array.from({ length: 31 }, (_, n) => `</d${30 - n}>`).join("")}`.repeat(300)}</a>`,
  "200,000 character references": `<a>${"&#65;".repeat(200_000)}</a>`,
  "1 MiB of text": `<a>${"x".repeat(1_024 * 1_024 - 7)}</a>`,
  "bytes that are no XML": "\u0001".repeat(1_000 * 1_024),
};
