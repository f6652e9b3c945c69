import { generateKeyPairSync } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** First bytes that make a seed begin with S and a user's public key with U. */
const seedPrefix = 18 << 3;
const userPrefix = 20 << 3;

/**
 * A new NATS user (an NKey): the seed stays with the service, the public key goes into the server's permission file.
 * Made without the client library, which the supervisor would hold for ever.
 */
export function generateNkey(): { seed: string; publicKey: string } {
  const { d = "", x = "" } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  const ofType = [seedPrefix | (userPrefix >> 5), (userPrefix & 31) << 3];
  return {
    seed: encoded([...ofType, ...Buffer.from(d, "base64url")]),
    publicKey: encoded([userPrefix, ...Buffer.from(x, "base64url")]),
  };
}

/** Base32 without padding of the bytes and their CRC-16 (XMODEM), low byte first. */
function encoded(bytes: readonly number[]): string {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  const bits = [...bytes, crc & 0xff, crc >> 8].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, "0"), 2)]).join("");
}
