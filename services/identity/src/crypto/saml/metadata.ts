import type { StoredCertificate } from "../../rules/sso/provider.ts";
import { metadataLimits } from "../../rules/sso/saml/byte-limits.ts";
import { plainDocument } from "../../rules/sso/saml/plain-document.ts";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import { distinct, readCertificate } from "./certificates.ts";
import { attribute, childrenNamed, childrenOf, isElement, ns, textOf, withXml, type XmlElement } from "./xml.ts";

const bindings = "urn:oasis:names:tc:SAML:2.0:bindings";
const maxCertificates = 20;
/** Descriptors of keys that are looked at, good or not. */
const maxKeys = 100;
const maxOmitted = 20;

/** The part of an identity provider's metadata that sign-in needs. */
export type IdpMetadata = {
  entityId: string;
  ssoUrl: string;
  certificates: StoredCertificate[];
  wantsSignedRequests: boolean;
  /** Sentences for administrators about what the document holds and sign-in does not use, at most 20. */
  omitted: string[];
};

/**
 * Reads metadata of one identity provider (SAML 2.0 Metadata), whichever way it came; what cannot be used is left out
 * and told. Of several identity providers the one with the id `wanted` counts. Throws SamlRefused with a sentence for
 * administrators.
 */
export function readMetadata(bytes: Buffer, now: Date, wanted: string | null = null): IdpMetadata {
  if (bytes.length > metadataLimits.bytes) {
    throw new SamlRefused(`the metadata has ${bytes.length} bytes, at most ${metadataLimits.bytes} are accepted`);
  }
  return withXml(plainDocument(bytes), { limits: metadataLimits, validate: false }, (root) => {
    const omitted: string[] = [];
    const entity = chosenEntity(root, { now, wanted, omitted });
    const role = chosenRole(entity, now, omitted);
    const found = {
      entityId: entityIdOf(entity),
      ssoUrl: signInAddress(role, omitted),
      certificates: signingCertificates(role, omitted),
      wantsSignedRequests: ["true", "1"].includes(attribute(role, "WantAuthnRequestsSigned") ?? ""),
    };
    return { ...found, omitted: omitted.slice(0, maxOmitted) };
  });
}

type Choice = { now: Date; wanted: string | null; omitted: string[] };

/** The one entity that is an identity provider, alone or among others in an aggregate. */
function chosenEntity(root: XmlElement, { now, wanted, omitted }: Choice): XmlElement {
  const all = entitiesIn(root, now);
  const idps = all.filter((entity) => childrenNamed(entity, "metadata", "IDPSSODescriptor").length > 0);
  const [first] = idps;
  if (!first) {
    throw new SamlRefused(
      all.length === 0
        ? "the root must be one EntityDescriptor, or an EntitiesDescriptor"
        : "there is no IDPSSODescriptor: it is not of an identity provider",
    );
  }
  const named = idps.filter((entity) => entityIdOf(entity) === wanted);
  const [entity = first] = named;
  if (idps.length > 1 && named.length !== 1) {
    const ids = idps.slice(0, 5).map((each) => shortened(entityIdOf(each)));
    throw new SamlRefused(
      `the metadata is of ${idps.length} identity providers, of which samlEntityId must name one: ${ids.join(", ")}`,
    );
  }
  if (all.length > 1) omitted.push(`Other entities: ${all.length - 1}`);
  return entity;
}

/** Every entity of a document that has not expired. Throws SamlRefused when all have. */
function entitiesIn(root: XmlElement, now: Date): XmlElement[] {
  const isGroup = (element: XmlElement) => isElement(element, "metadata", "EntitiesDescriptor");
  const found: XmlElement[] = [];
  let expired = 0;
  const waiting = [root];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (!isGroup(next) && !isElement(next, "metadata", "EntityDescriptor")) continue;
    if (hasExpired(next, now)) expired++;
    else if (isGroup(next)) waiting.push(...childrenOf(next).reverse());
    else found.push(next);
  }
  if (found.length === 0 && expired > 0) throw new SamlRefused("the metadata has expired");
  return found;
}

function hasExpired(element: XmlElement, now: Date): boolean {
  const until = attribute(element, "validUntil");
  return until !== null && !(Date.parse(until) > now.getTime());
}

function entityIdOf(entity: XmlElement): string {
  const entityId = attribute(entity, "entityID")?.trim() ?? "";
  if (entityId === "" || entityId.length > 1_024) throw new SamlRefused("entityID must have 1 to 1024 characters");
  return entityId;
}

/** The first role of an identity provider for SAML 2.0 that has not expired. */
function chosenRole(entity: XmlElement, now: Date, omitted: string[]): XmlElement {
  const roles = childrenNamed(entity, "metadata", "IDPSSODescriptor");
  const speaks = (role: XmlElement) =>
    (attribute(role, "protocolSupportEnumeration") ?? "").split(/\s+/).includes(ns.protocol);
  const [role, ...more] = roles.filter((each) => speaks(each) && !hasExpired(each, now));
  if (!role) {
    throw new SamlRefused(
      roles.some(speaks) ? "the metadata has expired" : "the identity provider does not speak SAML 2.0",
    );
  }
  if (more.length > 0) omitted.push(`Further IDPSSODescriptors for SAML 2.0: ${more.length}`);
  const others = roles.length - more.length - 1;
  if (others > 0) omitted.push(`IDPSSODescriptors that have expired or are for another protocol: ${others}`);
  return role;
}

/** Where browsers are sent with a request. Without an address for HTTP-Redirect that of HTTP-POST counts. */
function signInAddress(role: XmlElement, omitted: string[]): string {
  const services = childrenNamed(role, "metadata", "SingleSignOnService").map((service) => ({
    binding: attribute(service, "Binding"),
    url: attribute(service, "Location")?.trim() ?? "",
  }));
  const addressOf = (name: string) =>
    services.find(({ binding, url }) => binding === `${bindings}:${name}` && url !== "" && url.length <= 500)?.url;
  const byRedirect = addressOf("HTTP-Redirect");
  const url = byRedirect ?? addressOf("HTTP-POST");
  if (url === undefined) {
    throw new SamlRefused("there is no SingleSignOnService with the HTTP-Redirect or the HTTP-POST binding");
  }
  if (byRedirect === undefined) {
    omitted.push("HTTP-POST, the only binding for requests: requests are sent to its address by HTTP-Redirect");
  }
  return url;
}

/** The certificates for signing that can be used. Throws SamlRefused when there is none. */
function signingCertificates(role: XmlElement, omitted: string[]): StoredCertificate[] {
  const keys = childrenNamed(role, "metadata", "KeyDescriptor").filter(
    (key) => (attribute(key, "use") ?? "signing") === "signing",
  );
  const found: StoredCertificate[] = [];
  const unusable: string[] = [];
  keys.slice(0, maxKeys).forEach((key, at) => {
    const texts = childrenNamed(key, "signature", "KeyInfo")
      .flatMap((info) => childrenNamed(info, "signature", "X509Data"))
      .flatMap((data) => childrenNamed(data, "signature", "X509Certificate"))
      .map(textOf);
    const read = texts.map((text) => readCertificate(text, "metadata"));
    found.push(...read.filter((each) => typeof each !== "string"));
    const errors = texts.length === 0 ? ["Has no X509Certificate"] : read.filter((each) => typeof each === "string");
    unusable.push(...errors.map((error) => `Signing key ${at + 1}: ${error}`));
  });
  const certificates = distinct(found);
  if (certificates.length === 0) {
    throw new SamlRefused(["there is no certificate for signing that can be used", ...unusable.slice(0, 5)].join("; "));
  }
  omitted.push(...unusable);
  const more = certificates.length - maxCertificates + Math.max(0, keys.length - maxKeys);
  if (more > 0) omitted.push(`Further certificates for signing: ${more}`);
  return certificates.slice(0, maxCertificates);
}

const shortened = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
