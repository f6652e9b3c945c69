import { oaep, offeredMethods } from "./encryption-methods.ts";
import type { OwnEntity } from "./service-provider.ts";
import { ns } from "./xml.ts";

const postBinding = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";

/**
 * Our metadata, for one identity provider to import (SAML 2.0 Metadata, 2.4.4). While our key is renewed both
 * certificates are in it, for encryption the next one first. Names the methods by which assertions may be encrypted:
 * some products choose modes that are refused here otherwise.
 */
export function ownMetadata({ entityId, acsUrl, certificate, nextCertificate, ...own }: OwnEntity): string {
  const next = nextCertificate === null ? [] : [nextCertificate];
  const methods = offeredMethods.map(method).join("");
  const keys = [
    ...(own.signsRequests ? [certificate, ...next].map((pem) => keyDescriptor("signing", pem)) : []),
    ...(own.wantsEncrypted ? [...next, certificate].map((pem) => keyDescriptor("encryption", pem, methods)) : []),
  ];
  return [
    `<EntityDescriptor xmlns="${ns.metadata}" xmlns:ds="${ns.signature}" entityID="${escaped(entityId)}">`,
    `<SPSSODescriptor AuthnRequestsSigned="${own.signsRequests}" WantAssertionsSigned="true"`,
    ` protocolSupportEnumeration="${ns.protocol}">`,
    ...keys,
    `<NameIDFormat>${escaped(own.nameIdFormat)}</NameIDFormat>`,
    `<AssertionConsumerService index="0" isDefault="true" Binding="${postBinding}" Location="${escaped(acsUrl)}"/>`,
    "</SPSSODescriptor></EntityDescriptor>",
  ].join("");
}

function keyDescriptor(use: "signing" | "encryption", pem: string, methods = ""): string {
  const base64 = pem.replaceAll(/-----[A-Z ]+-----|\s/g, "");
  const data = `<ds:X509Data><ds:X509Certificate>${base64}</ds:X509Certificate></ds:X509Data>`;
  return `<KeyDescriptor use="${use}"><ds:KeyInfo>${data}</ds:KeyInfo>${methods}</KeyDescriptor>`;
}

function method({ algorithm, digest, mask }: (typeof offeredMethods)[number]): string {
  const digestMethod = digest ? `<ds:DigestMethod Algorithm="${digest}"/>` : "";
  const generator = mask ? `<xenc11:MGF xmlns:xenc11="${oaep.namespace}" Algorithm="${mask}"/>` : "";
  return `<EncryptionMethod Algorithm="${algorithm}">${digestMethod}${generator}</EncryptionMethod>`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? "");
