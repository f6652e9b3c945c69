import { createPrivateKey } from "node:crypto";
import { isIP } from "node:net";
import { z } from "zod";
import { canonicalCidr } from "../caller/cidr.ts";
import { secretBox } from "../crypto/secret-box.ts";
import { noteKeys, parseVerifier } from "../crypto/signed-note.ts";

/*
 * Formats of settings: what cannot be read is refused by its name at the start, before anything is opened. No message
 * has its content, which may be a secret.
 */

const items = (text: string) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

function parses(text: string, parse: (text: string) => unknown): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

const isDatabase = (url: string) => /^(socket:|\/)/.test(url) || (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url));

/** An address of PostgreSQL: a URL, or the path of a socket. */
export const databaseUrl = () =>
  z
    .string()
    .refine(isDatabase, "must be postgres://user@host:port/database; a password with / # ? or % goes into PGPASSWORD");

/** An address to listen on. */
export const listenHost = () => z.string().regex(/^[A-Za-z0-9.:_%-]+$/, "must be an address or host name");

/** `nats://host:port`, comma-separated; the scheme may be left out. */
export const natsServers = () =>
  z
    .string()
    .refine(
      (text) => items(text).length > 0 && items(text).every((each) => /^((nats|tls):\/\/)?[^\s/@]+$/.test(each)),
      "must be nats://host:port or tls://host:port, several comma-separated",
    );

export const nkeySeed = () =>
  z.string().refine((text) => /^SU[A-Z2-7]{56}$/.test(text), "must be the seed of a user's NKey");

/** `id:base64` PKCS#8 keys of one kind, comma-separated. */
export const privateKeys = (kind: "ed25519" | "ec") =>
  z
    .string()
    .refine(
      (text) => items(text).length > 0 && items(text).every((each) => isPrivateKey(each, kind)),
      `each entry must be id:base64 of a PKCS#8 ${kind === "ec" ? "P-256" : "Ed25519"} key`,
    );

/** Keys of signed notes: name:base64 PKCS#8 of those that sign, name+hash+base64 of those that only verify. */
export const signingKeys = () =>
  z.string().refine((text) => parses(text, noteKeys), "must begin with name:base64 of a PKCS#8 Ed25519 key");

function isPrivateKey(item: string, kind: "ed25519" | "ec"): boolean {
  const colon = item.indexOf(":");
  if (colon < 1) return false;
  const key = Buffer.from(item.slice(colon + 1), "base64");
  return parses(item, () => {
    if (createPrivateKey({ key, format: "der", type: "pkcs8" }).asymmetricKeyType !== kind) throw new Error(kind);
  });
}

/** `id:base64` of 32 bytes, comma-separated. */
export const sealingKeys = () =>
  z
    .string()
    .refine((text) => parses(text, (keys) => secretBox(keys, "format")), "each entry must be id:base64 of 32 bytes");

export const verifierKeys = () =>
  z
    .string()
    .refine(
      (text) => items(text).every((each) => parses(each, parseVerifier)),
      "each entry must be a verifier key, name+hash+base64",
    );

export const webUrl = () =>
  z.string().refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), "must be an http:// or https:// URL");

export const networks = () =>
  z
    .string()
    .refine(
      (text) => items(text).every((each) => canonicalCidr(each) !== null),
      "must be CIDR blocks such as 10.0.0.0/8, comma-separated",
    );

/** `address` or `address:port`, IPv6 in brackets where it has a port; comma-separated. */
export const addresses = () =>
  z
    .string()
    .refine(
      (text) =>
        items(text).every((each) => isIP(each.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")) > 0 || isIP(each) > 0),
      "must be address or address:port, several comma-separated",
    );
