import { createCipheriv, createPublicKey, publicEncrypt, randomBytes, X509Certificate } from "node:crypto";
import { SignedXml } from "xml-crypto";
import { readCertificate } from "../crypto/saml/certificates.ts";
import { newOwnKey } from "../crypto/saml/own-key.ts";
import type { Verification } from "../crypto/saml/verify-response.ts";
import type { StoredCertificate } from "../rules/sso/provider.ts";

export const now = new Date("2026-03-01T12:00:00.000Z");
export const expected = {
  issuer: "https://idp.example/metadata",
  audience: "https://muster.example/api/v1/sso/saml/metadata/0198b1de-0000-7000-8000-000000000001",
  recipient: "https://muster.example/api/v1/sso/saml/acs",
  requestId: "_request-1",
  subjectAttribute: null as string | null,
};

export const minutes = (count: number) => new Date(now.getTime() + count * 60_000).toISOString();
export const assertionNs = "urn:oasis:names:tc:SAML:2.0:assertion";
export const protocolNs = "urn:oasis:names:tc:SAML:2.0:protocol";
export const excC14n = "http://www.w3.org/2001/10/xml-exc-c14n#";
export const envelopedSignature = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
const more = "http://www.w3.org/2001/04/xmldsig-more#";

/** An identity provider's key with its certificate. */
export type TestKey = { privateKey: string; certificate: StoredCertificate };

export async function testKey(): Promise<TestKey> {
  const { privateKey, certificate } = await newOwnKey(new Date(now.getTime() - 86_400_000));
  const stored = readCertificate(certificate, "manual");
  if (typeof stored === "string") throw new Error(stored);
  return { privateKey, certificate: stored };
}

/** How an assertion that lets ada in differs. */
export type AssertionChange = Partial<{
  id: string;
  issuer: string;
  version: string;
  issueInstant: string;
  nameId: string;
  subject: string;
  confirmation: string;
  conditions: string;
  statement: string;
  attributes: string;
  advice: string;
}>;

export const confirmationData = (change: Record<string, string> = {}) => {
  const all = {
    NotOnOrAfter: minutes(5),
    Recipient: expected.recipient,
    InResponseTo: expected.requestId,
    ...change,
  };
  const written = Object.entries(all).flatMap(([name, value]) => (value === "" ? [] : [`${name}="${value}"`]));
  return `<saml:SubjectConfirmationData ${written.join(" ")}/>`;
};
const bearer = (data: string) =>
  `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">${data}</saml:SubjectConfirmation>`;
export const audience = (...audiences: string[]) =>
  `<saml:AudienceRestriction>${audiences.map((each) => `<saml:Audience>${each}</saml:Audience>`).join("")}</saml:AudienceRestriction>`;

export function assertionXml(change: AssertionChange = {}): string {
  const nameId =
    change.nameId ??
    '<saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">ada@acme.example</saml:NameID>';
  const subject =
    change.subject ?? `<saml:Subject>${nameId}${change.confirmation ?? bearer(confirmationData())}</saml:Subject>`;
  const conditions =
    change.conditions ??
    `<saml:Conditions NotBefore="${minutes(-1)}" NotOnOrAfter="${minutes(5)}">${audience(expected.audience)}</saml:Conditions>`;
  const statement =
    change.statement ??
    `<saml:AuthnStatement AuthnInstant="${minutes(0)}" SessionIndex="_s"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`;
  const attributes =
    change.attributes ??
    `<saml:AttributeStatement><saml:Attribute Name="name"><saml:AttributeValue>Ada Lovelace</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>`;
  return `<saml:Assertion xmlns:saml="${assertionNs}" ID="${change.id ?? "_assertion-1"}" Version="${change.version ?? "2.0"}" IssueInstant="${change.issueInstant ?? minutes(0)}"><saml:Issuer>${change.issuer ?? expected.issuer}</saml:Issuer>${subject}${conditions}${change.advice ?? ""}${statement}${attributes}</saml:Assertion>`;
}

export const bearerOf = bearer;
export const success =
  '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>';

/** A response around what is in it. */
export function responseXml(
  content: string,
  change: Partial<{
    status: string;
    extensions: string;
    attributes: Record<string, string>;
    issuer: string;
    namespaces: string;
  }> = {},
): string {
  const attributes = {
    ID: "_response-1",
    Version: "2.0",
    IssueInstant: minutes(0),
    Destination: expected.recipient,
    InResponseTo: expected.requestId,
    ...change.attributes,
  };
  const written = Object.entries(attributes).flatMap(([name, value]) => (value === "" ? [] : [`${name}="${value}"`]));
  const issuer = change.issuer ?? `<saml:Issuer xmlns:saml="${assertionNs}">${expected.issuer}</saml:Issuer>`;
  return `<samlp:Response xmlns:samlp="${protocolNs}" ${change.namespaces ?? ""} ${written.join(" ")}>${issuer}${change.extensions ?? ""}${change.status ?? success}${content}</samlp:Response>`;
}

export type Signing = Partial<{
  of: "Assertion" | "Response";
  id: string;
  algorithm: string;
  digest: string;
  canonicalization: string;
  transforms: string[];
  prefixes: string[];
  publicCert: string;
}>;

/** The document with a signature made by another library than the one under test. */
export function signed(xml: string, key: Pick<TestKey, "privateKey">, signing: Signing = {}): string {
  const element = `//*[local-name(.)='${signing.of ?? "Assertion"}'${signing.id ? ` and @ID='${signing.id}'` : ""}]`;
  const signature = new SignedXml({
    privateKey: key.privateKey,
    publicCert: signing.publicCert,
    signatureAlgorithm: signing.algorithm ?? `${more}rsa-sha256`,
    canonicalizationAlgorithm: signing.canonicalization ?? excC14n,
  });
  signature.addReference({
    xpath: element,
    transforms: signing.transforms ?? [envelopedSignature, excC14n],
    digestAlgorithm: signing.digest ?? "http://www.w3.org/2001/04/xmlenc#sha256",
    ...(signing.prefixes ? { inclusiveNamespacesPrefixList: signing.prefixes } : {}),
  });
  const location = { reference: `${element}/*[local-name(.)='Issuer']`, action: "after" as const };
  signature.computeSignature(xml, { location, prefix: "ds" });
  return signature.getSignedXml();
}

export const posted = (xml: string | Buffer) => Buffer.from(xml).toString("base64");

/** The verifier's input for a provider with this key. */
export const verification = (key: TestKey, change: Partial<Verification> = {}): Verification => ({
  expected,
  certificates: [key.certificate],
  decryption: null,
  now,
  ...change,
});

const xenc = "http://www.w3.org/2001/04/xmlenc#";
const xenc11 = "http://www.w3.org/2009/xmlenc11#";

/** How an assertion is encrypted; URIs as the document names them, hashes as Node does. */
export type Encrypting = Partial<{
  content: string;
  transport: string;
  digest: string;
  mask: string;
  hash: string;
  isPkcs1: boolean;
}>;

/** An EncryptedAssertion of any content, by default RSA-OAEP and AES-256-GCM. */
export function encrypted(xml: string, certificate: string, encrypting: Encrypting = {}): string {
  const { content = `${xenc11}aes256-gcm`, transport = `${xenc}rsa-oaep-mgf1p`, isPkcs1 = false } = encrypting;
  const [, bits = "256", mode] = /aes(\d{3})-(gcm|cbc)$/.exec(content) ?? [];
  const contentKey = randomBytes(Number(bits) / 8);
  const nonce = randomBytes(mode === "cbc" ? 16 : 12);
  const cipher = createCipheriv(`aes-${bits}-${mode ?? "gcm"}`, contentKey, nonce);
  const sealed = Buffer.concat([nonce, cipher.update(xml), cipher.final()]);
  const bytes =
    mode === "cbc" ? sealed : Buffer.concat([sealed, (cipher as import("node:crypto").CipherGCM).getAuthTag()]);
  const key = createPublicKey(new X509Certificate(certificate).publicKey.export({ type: "spki", format: "pem" }));
  // 1: RSA_PKCS1_PADDING; 4: RSA_PKCS1_OAEP_PADDING.
  const wrapped = publicEncrypt({ key, padding: isPkcs1 ? 1 : 4, oaepHash: encrypting.hash ?? "sha1" }, contentKey);
  const value = (each: Buffer) =>
    `<xenc:CipherData><xenc:CipherValue>${each.toString("base64")}</xenc:CipherValue></xenc:CipherData>`;
  const digest = encrypting.digest
    ? `<ds:DigestMethod xmlns:ds="http://www.w3.org/2000/09/xmldsig#" Algorithm="${encrypting.digest}"/>`
    : "";
  const mask = encrypting.mask ? `<xenc11:MGF xmlns:xenc11="${xenc11}" Algorithm="${encrypting.mask}"/>` : "";
  return `<saml:EncryptedAssertion xmlns:saml="${assertionNs}"><xenc:EncryptedData xmlns:xenc="${xenc}" Type="${xenc}Element"><xenc:EncryptionMethod Algorithm="${content}"/><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="${transport}">${digest}${mask}</xenc:EncryptionMethod>${value(wrapped)}</xenc:EncryptedKey></ds:KeyInfo>${value(bytes)}</xenc:EncryptedData></saml:EncryptedAssertion>`;
}
