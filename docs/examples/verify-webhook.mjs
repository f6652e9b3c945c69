// Verifies a webhook's request: node verify-webhook.mjs WEBHOOK-ID WEBHOOK-TIMESTAMP WEBHOOK-SIGNATURE KEY < body
import { createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const toleranceSeconds = 300;

/** Whether `key`, the secret or a public key `whpk_…`, signed the request; `body` holds the bytes as they came. */
export function isSigned({ id, timestamp, signatures }, body, key) {
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceSeconds)) return false;
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  return signatures.split(" ").some((each) => {
    const [version, text = ""] = each.split(",");
    const signature = Buffer.from(text, "base64");
    return key.startsWith("whpk_")
      ? version === "v1a" && verify(null, signed, publicKeyOf(key), signature)
      : version === "v1" && same(signature, createHmac("sha256", secretOf(key)).update(signed).digest());
  });
}

const secretOf = (key) => (key.startsWith("whsec_") ? Buffer.from(key.slice(6), "base64") : key);
const same = (a, b) => a.length === b.length && timingSafeEqual(a, b);

function publicKeyOf(key) {
  const x = Buffer.from(key.slice(5), "base64").toString("base64url");
  return createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [id, timestamp, signatures, key] = process.argv.slice(2);
  process.exitCode = isSigned({ id, timestamp, signatures }, readFileSync(0), key) ? 0 : 1;
}
