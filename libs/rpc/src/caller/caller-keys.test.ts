import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { generateCallerKey, parsePrivateKeys, readPublicKeys } from "./caller-keys.ts";

const folder = mkdtempSync(join(tmpdir(), "muster-callers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("public keys are read from a folder per issuer and from the flat files of a Kubernetes mount", () => {
  const [gateway, audit] = [generateCallerKey(), generateCallerKey()];
  mkdirSync(join(folder, "gateway"));
  writeFileSync(join(folder, "gateway", `${gateway.kid}.pem`), gateway.publicPem);
  // A ConfigMap's mount: versions in "..2026…", "..data" pointing at the current one, its files as links.
  mkdirSync(join(folder, "..2026_01_01"));
  writeFileSync(join(folder, "..2026_01_01", `audit.${audit.kid}.pem`), audit.publicPem);
  symlinkSync("..2026_01_01", join(folder, "..data"));
  symlinkSync(join("..data", `audit.${audit.kid}.pem`), join(folder, `audit.${audit.kid}.pem`));
  expect([...readPublicKeys(folder).keys()].sort()).toEqual([`audit/${audit.kid}`, `gateway/${gateway.kid}`]);
});

test("a flat file that holds no public key is named", () => {
  writeFileSync(join(folder, "tenancy.k1.pem"), "no key");
  expect(() => readPublicKeys(folder)).toThrow(/tenancy\.k1\.pem is not a public key/);
});

test("a directory or keys that cannot be read are named by their setting", () => {
  expect(() => readPublicKeys(join(folder, "none"))).toThrow(/CALLER_PUBLIC_KEYS_DIR: ENOENT.*none/);
  expect(() => parsePrivateKeys("k1:none")).toThrow("CALLER_PRIVATE_KEYS: Caller private key k1 is not base64 PKCS#8");
});
