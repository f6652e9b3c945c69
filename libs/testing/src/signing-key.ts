import "reflect-metadata";
import { KeyObject, webcrypto } from "node:crypto";
import { X509CertificateGenerator } from "@peculiar/x509";

const dayMs = 86_400_000;

/** A key of a test's identity provider that signs assertions, and its certificate of a year, both PEM. */
export async function newSigningKey(): Promise<{ privateKey: string; certificate: string }> {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2_048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const notBefore = new Date(Date.now() - dayMs);
  const notAfter = new Date(Date.now() + 365 * dayMs);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    { name: "CN=An identity provider", keys, notBefore, notAfter, signingAlgorithm: algorithm },
    webcrypto as Parameters<typeof X509CertificateGenerator.createSelfSigned>[1],
  );
  return {
    privateKey: KeyObject.from(keys.privateKey).export({ type: "pkcs8", format: "pem" }) as string,
    certificate: certificate.toString("pem"),
  };
}
