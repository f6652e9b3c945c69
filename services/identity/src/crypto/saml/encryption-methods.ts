import { ns } from "./xml.ts";

const newer = "http://www.w3.org/2009/xmlenc11#";
const more = "http://www.w3.org/2001/04/xmldsig-more#";

/** Ciphers of an assertion: AES-GCM alone, since a mode without authentication leaks whether a guess fits. */
export const contentCiphers: Readonly<
  Record<string, { name: "aes-128-gcm" | "aes-192-gcm" | "aes-256-gcm"; keyBytes: number }>
> = {
  [`${newer}aes256-gcm`]: { name: "aes-256-gcm", keyBytes: 32 },
  [`${newer}aes192-gcm`]: { name: "aes-192-gcm", keyBytes: 24 },
  [`${newer}aes128-gcm`]: { name: "aes-128-gcm", keyBytes: 16 },
};

/** Of the key in it: RSA-OAEP by both of its names, of which the older always has MGF1 with SHA-1. */
export const oaep = {
  named: `${newer}rsa-oaep`,
  mgf1Sha1: `${ns.encryption}rsa-oaep-mgf1p`,
  namespace: newer,
} as const;

/** Node's names of the digests of RSA-OAEP, and of those of its mask. */
export const oaepDigests: Readonly<Record<string, string>> = {
  [`${ns.signature}sha1`]: "sha1",
  [`${ns.encryption}sha256`]: "sha256",
  [`${more}sha384`]: "sha384",
  [`${ns.encryption}sha512`]: "sha512",
};
export const oaepMasks: Readonly<Record<string, string>> = {
  [`${newer}mgf1sha1`]: "sha1",
  [`${newer}mgf1sha256`]: "sha256",
  [`${newer}mgf1sha384`]: "sha384",
  [`${newer}mgf1sha512`]: "sha512",
};

/** `md:EncryptionMethod`s of our metadata, those that we prefer first. */
export const offeredMethods: readonly { algorithm: string; digest?: string; mask?: string }[] = [
  ...Object.keys(contentCiphers).map((algorithm) => ({ algorithm })),
  { algorithm: oaep.named, digest: `${ns.encryption}sha256`, mask: `${newer}mgf1sha256` },
  { algorithm: oaep.named, digest: `${ns.encryption}sha512`, mask: `${newer}mgf1sha512` },
  { algorithm: oaep.mgf1Sha1, digest: `${ns.signature}sha1` },
];
