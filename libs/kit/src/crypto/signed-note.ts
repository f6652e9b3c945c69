import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

/** A key that verifies notes: its C2SP verifier key text is `name+hash+base64(0x01 ‖ public key)`. */
export type NoteVerifier = { name: string; hash: string; publicKey: KeyObject; text: string };
export type NoteSigner = NoteVerifier & { privateKey: KeyObject };

export type OpenedNote = {
  /** What was signed, the last newline included. */
  text: string;
  /** The known keys whose signatures hold; at least one. */
  signers: NoteVerifier[];
};

/** A note without a known signature, or with an invalid form. `text` is its content, if readable. */
export class NoteError extends Error {
  readonly text: string | null;
  constructor(message: string, text: string | null = null) {
    super(message);
    this.name = "NoteError";
    this.text = text;
  }
}

const ed25519 = Buffer.from([1]);
// DER of an Ed25519 SubjectPublicKeyInfo up to the 32 bytes of the key (RFC 8410).
const spkiPrefix = Buffer.from("302a300506032b6570032100", "hex");
const nameForm = /^[^\s+\p{Cc}]{1,64}$/u;

/** Signs `text` (C2SP signed-note): it must end in a newline and hold no other control character. */
export function signNote(text: string, signer: NoteSigner): string {
  if (!isNoteText(text)) throw new Error("a note's text ends in a newline and has no control characters");
  const signature = sign(null, Buffer.from(text), signer.privateKey);
  const blob = Buffer.concat([Buffer.from(signer.hash, "hex"), signature]).toString("base64");
  return `${text}\n— ${signer.name} ${blob}\n`;
}

/**
 * Opens a signed note: its text, and the known keys that signed it. Signatures of unknown keys are passed over; throws
 * NoteError when none of a known key is there, or one of a known key does not hold.
 */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): OpenedNote {
  const split = note.lastIndexOf("\n\n");
  const text = split < 0 ? "" : note.slice(0, split + 1);
  const lines = split < 0 ? [] : note.slice(split + 2).split("\n");
  if (!isNoteText(text) || lines.pop() !== "" || lines.length === 0 || lines.length > 100) {
    throw new NoteError("not a signed note");
  }
  const signers: NoteVerifier[] = [];
  for (const line of lines) {
    const [, name = "", base64 = ""] = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/u.exec(line) ?? [];
    const blob = Buffer.from(base64, "base64");
    if (!nameForm.test(name) || blob.length < 5) throw new NoteError("a signature line is malformed", text);
    const hash = blob.toString("hex", 0, 4);
    const key = verifiers.find((each) => each.name === name && each.hash === hash);
    if (!key || signers.includes(key)) continue;
    if (!verify(null, Buffer.from(text), key.publicKey, blob.subarray(4))) {
      throw new NoteError(`the signature of ${name} does not hold`, text);
    }
    signers.push(key);
  }
  if (signers.length === 0) throw new NoteError("signed by no known key", text);
  return { text, signers };
}

/**
 * The keys of a setting such as CHECKPOINT_PRIVATE_KEY, `name:base64 PKCS#8 (Ed25519)[,…]` or `name+hash+base64` of a
 * key that now only verifies. The first signs, all verify. Throws on anything else.
 */
export function noteKeys(setting: string): { signer: NoteSigner; verifiers: NoteVerifier[] } {
  const keys = setting.split(",").map((entry) => keyOf(entry.trim()));
  const [signer] = keys;
  if (!signer || !("privateKey" in signer)) throw new Error("the first key of a note setting must be a private one");
  return { signer, verifiers: keys };
}

/** Reads a C2SP verifier key, `name+hash+base64`; throws when it is none or its hash is another key's. */
export function parseVerifier(text: string): NoteVerifier {
  const [, name = "", hash = "", base64 = ""] =
    /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/u.exec(text.trim()) ?? [];
  const blob = Buffer.from(base64, "base64");
  if (blob.length !== 33 || blob[0] !== 1) throw new Error("not a verifier key (name+hash+base64 of an Ed25519 key)");
  const key = createPublicKey({ key: Buffer.concat([spkiPrefix, blob.subarray(1)]), format: "der", type: "spki" });
  const verifier = verifierOf(name, key);
  if (verifier.hash !== hash) throw new Error("the hash of the verifier key is not its own");
  return verifier;
}

/** A new private key in the form of `noteKeys`. */
export function generateNoteKey(name: string): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  return `${name}:${privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")}`;
}

function keyOf(entry: string): NoteSigner | NoteVerifier {
  const [, name = "", base64 = ""] = /^([^:+\s]+):([A-Za-z0-9+/]+={0,2})$/u.exec(entry) ?? [];
  if (name === "") return parseVerifier(entry);
  const privateKey = createPrivateKey({ key: Buffer.from(base64, "base64"), format: "der", type: "pkcs8" });
  if (privateKey.asymmetricKeyType !== "ed25519") throw new Error("a note key is not Ed25519");
  return { ...verifierOf(name, createPublicKey(privateKey)), privateKey };
}

function verifierOf(name: string, publicKey: KeyObject): NoteVerifier {
  if (!nameForm.test(name)) throw new Error("the name of a note key has no spaces, no plus and 1 to 64 characters");
  const blob = Buffer.concat([ed25519, publicKey.export({ type: "spki", format: "der" }).subarray(-32)]);
  const hash = createHash("sha256").update(`${name}\n`).update(blob).digest("hex").slice(0, 8);
  return { name, hash, publicKey, text: `${name}+${hash}+${blob.toString("base64")}` };
}

function isNoteText(text: string): boolean {
  return /^(?:[^\p{Cc}\p{Cs}]|\n)+\n$/u.test(text);
}
