import { constants, createDecipheriv, type KeyObject, privateDecrypt } from "node:crypto";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import { contentCiphers, oaep, oaepDigests, oaepMasks } from "./encryption-methods.ts";
import {
  attribute,
  bytesIn,
  childrenOf,
  everyElement,
  isElement,
  onlyChild,
  optionalChild,
  type XmlElement,
} from "./xml.ts";

const nonceBytes = 12;
const tagBytes = 16;

/**
 * The bytes of an encrypted assertion (encryption-methods.ts). Throws the same SamlRefused for every failure.
 */
export function decryptAssertion(encrypted: XmlElement, ours: readonly KeyObject[]): Buffer {
  try {
    const data = onlyChild(encrypted, "encryption", "EncryptedData");
    const cipher = contentCiphers[attribute(onlyChild(data, "encryption", "EncryptionMethod"), "Algorithm") ?? ""];
    const keys = everyElement(encrypted).filter((each) => isElement(each, "encryption", "EncryptedKey"));
    const [encryptedKey, ...more] = keys;
    if (!cipher || !encryptedKey || more.length > 0) throw new Error("another form");
    const contentKey = unwrapped(cipherValue(encryptedKey), oaepHash(encryptedKey), ours);
    if (contentKey?.length !== cipher.keyBytes) throw new Error("another key of ours, or another length");
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

/** The content's key by whichever of our keys it was encrypted for; null when by none. */
function unwrapped(bytes: Buffer, hash: string, ours: readonly KeyObject[]): Buffer | null {
  for (const key of ours) {
    try {
      return privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: hash }, bytes);
    } catch {
      // For another of our keys, or for none.
    }
  }
  return null;
}

const cipherValue = (element: XmlElement) =>
  bytesIn(onlyChild(onlyChild(element, "encryption", "CipherData"), "encryption", "CipherValue"));

/** Node uses one hash for both parts of OAEP. */
function oaepHash(encryptedKey: XmlElement): string {
  const method = onlyChild(encryptedKey, "encryption", "EncryptionMethod");
  const uri = attribute(method, "Algorithm");
  const digest = optionalChild(method, "signature", "DigestMethod");
  const hash = digest === null ? "sha1" : oaepDigests[attribute(digest, "Algorithm") ?? ""];
  const masked = childrenOf(method).find((each) => each.name === "MGF" && each.namespaceUri === oaep.namespace);
  const mask = masked === undefined ? "sha1" : oaepMasks[attribute(masked, "Algorithm") ?? ""];
  const isOaep = uri === oaep.mgf1Sha1 ? masked === undefined : uri === oaep.named;
  if (!isOaep || hash === undefined || hash !== mask) throw new Error("another form of OAEP");
  return hash;
}
