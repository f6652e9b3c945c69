import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";

type Json = Record<string, unknown>;
type Made = { id: Buffer; privateKey: KeyObject; counter: number };

/** What a page does differently from an honest one. */
export type Twist = {
  origin?: string;
  rpId?: string;
  userVerified?: boolean;
  challenge?: string;
  type?: string;
  /** Added to the signature counter; 0 repeats the last one. */
  counterStep?: number;
};

export type Authenticator = {
  /** `navigator.credentials.create()`: takes options as JSON, returns what `toJSON()` would. */
  create(options: Json, twist?: Twist): Json;
  /** `navigator.credentials.get()`; throws when it knows none of the allowed credentials. */
  get(options: Json, twist?: Twist): Json;
};

/** A browser's WebAuthn with a software authenticator: ES256, user verified, attestation "none". */
export function softAuthenticator(origin: string): Authenticator {
  const credentials: Made[] = [];
  return {
    create(options, twist = {}) {
      const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
      const made: Made = { id: randomBytes(32), privateKey, counter: 0 };
      credentials.push(made);
      const rpId = twist.rpId ?? String((options.rp as Json).id);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(made.id.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, made.id, coseKey(publicKey)]);
      const authData = Buffer.concat([authenticatorData(rpId, 0, twist, flags.attested), attested]);
      const attestation = cbor(
        new Map<unknown, unknown>([
          ["fmt", "none"],
          ["attStmt", new Map()],
          ["authData", authData],
        ]),
      );
      const response = {
        clientDataJSON: clientData("webauthn.create", origin, options, twist).toString("base64url"),
        attestationObject: attestation.toString("base64url"),
        transports: ["internal"],
      };
      return credentialJson(made.id, response);
    },
    get(options, twist = {}) {
      const allowed = ((options.allowCredentials ?? []) as { id: string }[]).map(({ id }) => id);
      const used = credentials.find(({ id }) => allowed.includes(id.toString("base64url")));
      if (!used) throw new Error("NotAllowedError: no credential of these is known here");
      used.counter += twist.counterStep ?? 1;
      const authData = authenticatorData(twist.rpId ?? String(options.rpId), used.counter, twist, 0);
      const client = clientData("webauthn.get", origin, options, twist);
      const signature = createSign("sha256").update(authData).update(sha256(client)).sign(used.privateKey);
      const response = {
        clientDataJSON: client.toString("base64url"),
        authenticatorData: authData.toString("base64url"),
        signature: signature.toString("base64url"),
      };
      return credentialJson(used.id, response);
    },
  };
}

/** WebAuthn level 3, section 6.1. */
const flags = { present: 0x01, verified: 0x04, attested: 0x40 };

function authenticatorData(rpId: string, counter: number, { userVerified = true }: Twist, more: number): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  const all = flags.present | (userVerified ? flags.verified : 0) | more;
  return Buffer.concat([sha256(Buffer.from(rpId)), Buffer.from([all]), count]);
}

function clientData(type: string, origin: string, options: Json, twist: Twist): Buffer {
  const challenge = twist.challenge ?? String(options.challenge);
  const data = { type: twist.type ?? type, challenge, origin: twist.origin ?? origin, crossOrigin: false };
  return Buffer.from(JSON.stringify(data));
}

const credentialJson = (id: Buffer, response: Json): Json => ({
  id: id.toString("base64url"),
  rawId: id.toString("base64url"),
  type: "public-key",
  authenticatorAttachment: "platform",
  clientExtensionResults: {},
  response,
});

/** COSE_Key of a P-256 key (RFC 9053, section 7.1.1). */
function coseKey(key: KeyObject): Buffer {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  const point = (text: string) => Buffer.from(text, "base64url");
  return cbor(
    new Map<unknown, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, point(x)],
      [-3, point(y)],
    ]),
  );
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest();

/** As much of CBOR (RFC 8949) as WebAuthn needs: small integers, texts, byte strings, maps. */
function cbor(value: unknown): Buffer {
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map) return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)]);
  throw new Error(`cannot write ${typeof value} as CBOR`);
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
}
