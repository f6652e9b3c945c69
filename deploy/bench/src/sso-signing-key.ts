import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { X509CertificateGenerator } from "@peculiar/x509";

/** A key that assertions of the bench are signed with, and its certificate, both PEM. */
export async function newSigningKey(): Promise<{ privateKey: string; certificate: string }> {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2_048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const notAfter = new Date(Date.now() + 86_400_000);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    { name: "CN=Bench", keys, notBefore: new Date(Date.now() - 86_400_000), notAfter, signingAlgorithm: algorithm },
    webcrypto as Parameters<typeof X509CertificateGenerator.createSelfSigned>[1],
  );
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey));
  const lines = der
    .toString("base64")
    .replaceAll(/(.{64})/g, "$1\n")
    .trimEnd();
  return {
    privateKey: `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`,
    certificate: certificate.toString("pem"),
  };
}
