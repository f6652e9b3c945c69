import "reflect-metadata";
import { KeyObject, webcrypto } from "node:crypto";
import { X509CertificateGenerator } from "@peculiar/x509";

const algorithm = {
  name: "RSASSA-PKCS1-v1_5",
  modulusLength: 2_048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: "SHA-256",
};
const years = 10;

/** Our key for one provider: a private key (PKCS #8 PEM) and a certificate that only that provider trusts. */
export async function newOwnKey(now: Date): Promise<{ privateKey: string; certificate: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const notAfter = new Date(now);
  notAfter.setUTCFullYear(now.getUTCFullYear() + years);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    { name: "CN=Muster", keys, notBefore: now, notAfter, signingAlgorithm: algorithm },
    webcrypto as Crypto,
  );
  return {
    privateKey: KeyObject.from(keys.privateKey).export({ type: "pkcs8", format: "pem" }) as string,
    certificate: certificate.toString("pem"),
  };
}
