import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** A key pair of ed25519 (RFC 8032). */
export type SigningKey = {
  /** PKCS #8, DER. */
  privateKey: Buffer;
  /** 32 bytes. */
  publicKey: Buffer;
};

/** A new key pair. */
export function newSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { x = "" } = publicKey.export({ format: "jwk" });
  return {
    privateKey: privateKey.export({ format: "der", type: "pkcs8" }),
    publicKey: Buffer.from(x, "base64url"),
  };
}

/** The private key of a pair, as `asymmetricSignature` takes it. */
export const signerOf = (privateKey: Buffer): KeyObject =>
  createPrivateKey({ key: privateKey, format: "der", type: "pkcs8" });

/** One element of `webhook-signature`: `v1a,` and base64, as Standard Webhooks defines it for ed25519. */
export function asymmetricSignature(signer: KeyObject, prefix: string, body: Buffer): string {
  return `v1a,${sign(null, Buffer.concat([Buffer.from(prefix), body]), signer).toString("base64")}`;
}
