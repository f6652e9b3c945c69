import { constants, createDecipheriv, type KeyObject, privateDecrypt } from "node:crypto";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import {
  attribute,
  bytesIn,
  childrenOf,
  everyElement,
  isElement,
  ns,
  onlyChild,
  optionalChild,
  type XmlElement,
} from "./xml.ts";

const newer = "http://www.w3.org/2009/xmlenc11#";
const contentCiphers: Readonly<
  Record<string, { name: "aes-128-gcm" | "aes-192-gcm" | "aes-256-gcm"; keyBytes: number }>
> = {
  [`${newer}aes128-gcm`]: { name: "aes-128-gcm", keyBytes: 16 },
  [`${newer}aes192-gcm`]: { name: "aes-192-gcm", keyBytes: 24 },
  [`${newer}aes256-gcm`]: { name: "aes-256-gcm", keyBytes: 32 },
};
const hashes: Readonly<Record<string, string>> = {
  [`${ns.signature}sha1`]: "sha1",
  [`${ns.encryption}sha256`]: "sha256",
  [`${ns.encryption}sha512`]: "sha512",
};
const masks: Readonly<Record<string, string>> = {
  [`${newer}mgf1sha1`]: "sha1",
  [`${newer}mgf1sha256`]: "sha256",
  [`${newer}mgf1sha512`]: "sha512",
};
const nonceBytes = 12;
const tagBytes = 16;

/**
 * The bytes of an encrypted assertion: RSA-OAEP and AES-GCM alone, since a mode without authentication leaks whether a
 * guess fits. Throws the same SamlRefused for every fault.
 */
export function decryptAssertion(encrypted: XmlElement, key: KeyObject): Buffer {
  try {
    const data = onlyChild(encrypted, "encryption", "EncryptedData");
    const cipher = contentCiphers[attribute(onlyChild(data, "encryption", "EncryptionMethod"), "Algorithm") ?? ""];
    const keys = everyElement(encrypted).filter((each) => isElement(each, "encryption", "EncryptedKey"));
    const [encryptedKey, ...more] = keys;
    if (!cipher || !encryptedKey || more.length > 0) throw new Error("another form");
    const contentKey = privateDecrypt(
      { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: oaepHash(encryptedKey) },
      cipherValue(encryptedKey),
    );
    if (contentKey.length !== cipher.keyBytes) throw new Error("another length of key");
    const bytes = cipherValue(data);
    if (bytes.length <= nonceBytes + tagBytes) throw new Error("too short");
    const decipher = createDecipheriv(cipher.name, contentKey, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    throw new SamlRefused(
      "the assertion cannot be decrypted: RSA-OAEP with AES-GCM for our certificate is what is accepted",
    );
  }
}

const cipherValue = (element: XmlElement) =>
  bytesIn(onlyChild(onlyChild(element, "encryption", "CipherData"), "encryption", "CipherValue"));

/** Node uses one hash for both parts of OAEP. */
function oaepHash(encryptedKey: XmlElement): string {
  const method = onlyChild(encryptedKey, "encryption", "EncryptionMethod");
  const uri = attribute(method, "Algorithm");
  const digest = optionalChild(method, "signature", "DigestMethod");
  const hash = digest === null ? "sha1" : hashes[attribute(digest, "Algorithm") ?? ""];
  const masked = childrenOf(method).find(({ name, namespaceUri }) => name === "MGF" && namespaceUri === newer);
  const mask = masked === undefined ? "sha1" : masks[attribute(masked, "Algorithm") ?? ""];
  const isOaep = uri === `${ns.encryption}rsa-oaep-mgf1p` ? masked === undefined : uri === `${newer}rsa-oaep`;
  if (!isOaep || hash === undefined || hash !== mask) throw new Error("another form of OAEP");
  return hash;
}
