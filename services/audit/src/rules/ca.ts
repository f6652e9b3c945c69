import { X509Certificate } from "node:crypto";

const maxBytes = 65_536;
const maxCertificates = 20;
const block = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** What is wrong with the PEM of an authority; null when nothing is. */
export function caError(pem: string): string | null {
  if (Buffer.byteLength(pem) > maxBytes) return "At most 65,536 bytes";
  const blocks = pem.match(block) ?? [];
  if (pem.replace(block, "").trim() !== "") return "Certificates in PEM and nothing else";
  if (blocks.length < 1 || blocks.length > maxCertificates) return `1 to ${maxCertificates} certificates in PEM`;
  try {
    const isAuthority = blocks.every((each) => new X509Certificate(each).ca);
    return isAuthority ? null : "Not a certificate of an authority";
  } catch {
    return "Not a certificate";
  }
}
