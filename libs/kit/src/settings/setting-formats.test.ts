import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { generateNoteKey, noteKeys } from "../crypto/signed-note.ts";
import { ConfigError, loadConfig } from "./config.ts";
import {
  addresses,
  databaseUrl,
  listenHost,
  natsServers,
  networks,
  nkeySeed,
  privateKeys,
  sealingKeys,
  signingKeys,
  verifierKeys,
  webUrl,
} from "./setting-formats.ts";

const der = (key: ReturnType<typeof generateKeyPairSync>["privateKey"]) =>
  key.export({ type: "pkcs8", format: "der" }).toString("base64");
const ed25519 = `k1:${der(generateKeyPairSync("ed25519").privateKey)}`;
const p256 = `k1:${der(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey)}`;
const note = generateNoteKey("audit");
const verifier = noteKeys(note).signer.text;
const sealing = `k1:${Buffer.alloc(32, 1).toString("base64")}`;
const seed = `SU${"A".repeat(56)}`;

const formats: [string, z.ZodType, string[], string[]][] = [
  [
    "an address of PostgreSQL",
    databaseUrl(),
    ["postgres://app@db:5432/muster?sslmode=verify-full", "postgresql://a:b@[::1]/muster", "/run/postgresql muster"],
    ["db:5432", "mysql://db/muster", "postgres://app:pass/word@db/muster"],
  ],
  ["an address to listen on", listenHost(), ["0.0.0.0", "::", "localhost"], ["http://localhost", "a b"]],
  [
    "servers of NATS",
    natsServers(),
    ["nats://a:4222, tls://b:4222", "a:4222"],
    [" , ", "http://a:4222", "nats://u:p@a"],
  ],
  ["a seed of NATS", nkeySeed(), [seed], [seed.slice(1), `${seed}A`, seed.toLowerCase()]],
  ["keys that sign calls", privateKeys("ed25519"), [ed25519, `${ed25519},${ed25519}`], [p256, "k1:AAAA", "k1", ","]],
  ["keys of access tokens", privateKeys("ec"), [p256], [ed25519]],
  ["keys that seal", sealingKeys(), [sealing, `${sealing},${sealing}`], [`${sealing},`, "k1:AAAA", ":AAAA"]],
  ["keys of notes", signingKeys(), [note, `${note},${verifier}`], [verifier, "audit:AAAA"]],
  ["keys that verify", verifierKeys(), [verifier, ""], [note, `${verifier.slice(0, -2)}==`]],
  [
    "an address of the web",
    webUrl(),
    ["https://s3.example.com", "http://a:9000/x"],
    ["s3.example.com", "ftp://a", "http://"],
  ],
  ["networks", networks(), ["10.0.0.0/8, fd00::/8", "10.1.2.3"], ["10.0.0.0/33", "internal"]],
  ["name servers", addresses(), ["10.0.0.53,10.0.0.54:5353", "[2001:db8::53]:53", "2001:db8::53"], ["dns.example.com"]],
];

describe("a setting that cannot be read is refused by its name", () => {
  it.each(formats)("as %s", (_, format, good, bad) => {
    const schema = z.object({ SOME_SETTING: format });
    for (const SOME_SETTING of good) {
      expect(loadConfig(schema, SOME_SETTING === "" ? { SOME_SETTING: " " } : { SOME_SETTING })).toBeDefined();
    }
    for (const SOME_SETTING of bad) {
      const start = () => loadConfig(schema, { SOME_SETTING });
      expect(start).toThrow(ConfigError);
      expect(start).toThrow(/- SOME_SETTING: (must|each)/);
      // It may be a secret.
      if (SOME_SETTING.length > 8) expect(start).not.toThrow(SOME_SETTING);
    }
  });
});
