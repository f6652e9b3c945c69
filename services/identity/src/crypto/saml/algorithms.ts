import { constants, type KeyObject, verify } from "node:crypto";

type Algorithm = { keyType: "rsa" | "ec"; hash: string; isPss?: true };

const more = "http://www.w3.org/2001/04/xmldsig-more#";
const newer = "http://www.w3.org/2007/05/xmldsig-more#";

/** Signatures that are accepted (RFC 9231): asymmetric, with SHA-256 or better. */
const signatures: Readonly<Record<string, Algorithm>> = {
  [`${more}rsa-sha256`]: { keyType: "rsa", hash: "sha256" },
  [`${more}rsa-sha384`]: { keyType: "rsa", hash: "sha384" },
  [`${more}rsa-sha512`]: { keyType: "rsa", hash: "sha512" },
  [`${newer}sha256-rsa-MGF1`]: { keyType: "rsa", hash: "sha256", isPss: true },
  [`${newer}sha384-rsa-MGF1`]: { keyType: "rsa", hash: "sha384", isPss: true },
  [`${newer}sha512-rsa-MGF1`]: { keyType: "rsa", hash: "sha512", isPss: true },
  [`${more}ecdsa-sha256`]: { keyType: "ec", hash: "sha256" },
  [`${more}ecdsa-sha384`]: { keyType: "ec", hash: "sha384" },
  [`${more}ecdsa-sha512`]: { keyType: "ec", hash: "sha512" },
};

const digests: Readonly<Record<string, string>> = {
  "http://www.w3.org/2001/04/xmlenc#sha256": "sha256",
  [`${more}sha384`]: "sha384",
  "http://www.w3.org/2001/04/xmlenc#sha512": "sha512",
};

/** Node's name of a digest's URI; null when it is not accepted. */
export const digestOf = (uri: string | null) =>
  uri !== null && Object.hasOwn(digests, uri) ? (digests[uri] ?? null) : null;

/** How to verify a signature by its URI; null when it is not accepted. */
export function verifierOf(uri: string | null): ((data: Buffer, signature: Buffer, key: KeyObject) => boolean) | null {
  const algorithm = uri !== null && Object.hasOwn(signatures, uri) ? signatures[uri] : undefined;
  if (!algorithm) return null;
  const { keyType, hash, isPss } = algorithm;
  return (data, signature, key) => {
    if (key.asymmetricKeyType !== keyType) return false;
    if (keyType === "ec") return verify(hash, data, { key, dsaEncoding: "ieee-p1363" }, signature);
    if (!isPss) return verify(hash, data, key, signature);
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    return verify(hash, data, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }, signature);
  };
}
