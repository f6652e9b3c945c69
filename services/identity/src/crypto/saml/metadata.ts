import type { StoredCertificate } from "../../rules/sso/provider.ts";
import { metadataLimits } from "../../rules/sso/saml/byte-limits.ts";
import { plainDocument } from "../../rules/sso/saml/plain-document.ts";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import { distinct, readCertificate } from "./certificates.ts";
import { attribute, childrenNamed, isElement, ns, onlyChild, textOf, withXml, type XmlElement } from "./xml.ts";

const redirect = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
const maxCertificates = 20;

/** The part of an identity provider's metadata that sign-in needs. */
export type IdpMetadata = {
  entityId: string;
  ssoUrl: string;
  certificates: StoredCertificate[];
  wantsSignedRequests: boolean;
};

/**
 * Reads metadata of one identity provider (SAML 2.0 Metadata), whichever way it came. Throws SamlRefused with a sentence
 * for administrators.
 */
export function readMetadata(bytes: Buffer, now: Date): IdpMetadata {
  if (bytes.length > metadataLimits.bytes) {
    throw new SamlRefused(`the metadata has ${bytes.length} bytes, at most ${metadataLimits.bytes} are accepted`);
  }
  return withXml(plainDocument(bytes), { limits: metadataLimits, validate: false }, (root) => {
    if (!isElement(root, "metadata", "EntityDescriptor"))
      throw new SamlRefused("the root must be one EntityDescriptor");
    const validUntil = attribute(root, "validUntil");
    if (validUntil !== null && !(Date.parse(validUntil) > now.getTime()))
      throw new SamlRefused("the metadata has expired");
    const entityId = attribute(root, "entityID")?.trim() ?? "";
    if (entityId === "" || entityId.length > 1_024) throw new SamlRefused("entityID must have 1 to 1024 characters");
    const role = onlyChild(root, "metadata", "IDPSSODescriptor");
    if (!(attribute(role, "protocolSupportEnumeration") ?? "").split(/\s+/).includes(ns.protocol)) {
      throw new SamlRefused("the identity provider does not speak SAML 2.0");
    }
    const ssoUrl = childrenNamed(role, "metadata", "SingleSignOnService")
      .filter((service) => attribute(service, "Binding") === redirect)
      .map((service) => attribute(service, "Location")?.trim() ?? "")
      .find((url) => url !== "" && url.length <= 500);
    if (ssoUrl === undefined) throw new SamlRefused("there is no SingleSignOnService with the HTTP-Redirect binding");
    const certificates = distinct(signingCertificates(role));
    if (certificates.length === 0) throw new SamlRefused("there is no certificate for signing");
    const wantsSignedRequests = ["true", "1"].includes(attribute(role, "WantAuthnRequestsSigned") ?? "");
    return { entityId, ssoUrl, certificates: certificates.slice(0, maxCertificates), wantsSignedRequests };
  });
}

function signingCertificates(role: XmlElement): StoredCertificate[] {
  return childrenNamed(role, "metadata", "KeyDescriptor")
    .filter((descriptor) => (attribute(descriptor, "use") ?? "signing") === "signing")
    .flatMap((descriptor) => childrenNamed(onlyChild(descriptor, "signature", "KeyInfo"), "signature", "X509Data"))
    .flatMap((data) => childrenNamed(data, "signature", "X509Certificate"))
    .map((element) => {
      const certificate = readCertificate(textOf(element), "metadata");
      if (typeof certificate === "string") throw new SamlRefused(`a certificate for signing: ${certificate}`);
      return certificate;
    });
}
