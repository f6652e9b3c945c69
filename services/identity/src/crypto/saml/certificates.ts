import { X509Certificate } from "node:crypto";
import type { StoredCertificate } from "../../rules/sso/provider.ts";

const minRsaBits = 2_048;

/**
 * A signing certificate in stored form, from PEM or from bare base64 as metadata has it; a text is the reason for a
 * refusal.
 */
export function readCertificate(text: string, source: StoredCertificate["source"]): StoredCertificate | string {
  const certificate = parsed(text);
  if (!certificate) return "Must be an X.509 certificate";
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
  if (type !== "rsa" && type !== "ec") return "Must have an RSA or an elliptic-curve key";
  if (type === "rsa" && (details?.modulusLength ?? 0) < minRsaBits)
    return `An RSA key must have at least ${minRsaBits} bits`;
  return {
    pem: certificate.toString(),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    notBefore: new Date(certificate.validFrom).toISOString(),
    notAfter: new Date(certificate.validTo).toISOString(),
    source,
  };
}

function parsed(text: string): X509Certificate | null {
  // Tools write lines about the certificate before and after it.
  const [, ofPem] = /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/.exec(text) ?? [];
  const base64 = (ofPem ?? text).replaceAll(/\s/g, "");
  try {
    return new X509Certificate(Buffer.from(base64, "base64"));
  } catch {
    return null;
  }
}

/** Removes duplicate certificates; of equal ones the first stays. */
export function distinct(certificates: readonly StoredCertificate[]): StoredCertificate[] {
  return [...new Map([...certificates].reverse().map((each) => [each.fingerprint, each])).values()].reverse();
}
