import { execFileSync } from "node:child_process";
import { createHash, generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "@jest/globals";

type Say = (line: string) => void;
let checkSecrets: (release: { folder: string; work: string; say: Say }) => void;
let leaksIn: (program: string, folder: string, report: string) => string[];
let builtGitleaks: string;
beforeAll(async () => {
  const [own, other] = ["../check/secrets.mjs", "../check/gitleaks.mjs"];
  ({ checkSecrets } = (await import(own)) as { checkSecrets: typeof checkSecrets });
  ({ leaksIn, builtGitleaks } = (await import(other)) as { leaksIn: typeof leaksIn; builtGitleaks: string });
});

const folder = mkdtempSync(join(tmpdir(), "muster-unpacked-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const secret = "//registry.example/:_authToken=planted\n";
const tar = (file: string, text: string) => {
  const from = mkdtempSync(join(folder, "tar-"));
  writeFileSync(join(from, "inner"), text);
  execFileSync("tar", ["-czf", file, "-C", from, "inner"]);
};

/** A release of one file, made by `write`. */
function release(name: string, path: string, write: (file: string) => void) {
  const at = join(folder, name);
  mkdirSync(dirname(join(at, "release", path)), { recursive: true });
  write(join(at, "release", path));
  return { folder: join(at, "release"), work: join(at, "work"), say: () => undefined };
}

const blob = `blobs/sha256/${"a".repeat(64)}`;
const archives: [string, string, (file: string, text: string) => void][] = [
  ["a file", "notes.md", (file, text) => writeFileSync(file, text)],
  ["a package", "acme-cli-1.0.0.tgz", tar],
  ["a program", "muster-1.0.0-linux-amd64.gz", (file, text) => writeFileSync(file, gzipSync(text))],
  ["a layer of an image", blob, tar],
  ["the configuration of an image", blob, (file, text) => writeFileSync(file, JSON.stringify({ Env: [text] }))],
];
it.each(archives)("a planted secret in %s is found", (name, path, write) => {
  const planted = release(name.replaceAll(" ", "-"), path, (file) => write(file, secret));
  expect(() => checkSecrets(planted)).toThrow(/a credential in a registry's address/);
  const clean = release(`clean-${name.replaceAll(" ", "-")}`, path, (file) => write(file, "nothing\n"));
  expect(() => checkSecrets(clean)).not.toThrow();
});

it("gitleaks finds planted keys, and nothing in code that reads keys or in names of files", () => {
  if (!existsSync(builtGitleaks)) return;
  const at = mkdtempSync(join(folder, "leaks-"));
  const key = String(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
  writeFileSync(
    join(at, "code.js"),
    'const a = "-----BEGIN PRIVATE KEY-----";\nconst b = "-----END PRIVATE KEY-----";\n'.repeat(9),
  );
  writeFileSync(join(at, "assets.json"), '["passkey-C3XePems.js","pencil-JTE6elZY.js"]');
  expect(leaksIn(builtGitleaks, at, join(folder, "report.json"))).toEqual([]);
  writeFileSync(join(at, "planted.js"), `const key = ${JSON.stringify(key)};\n`);
  writeFileSync(join(at, "planted.pem"), key);
  writeFileSync(join(at, "planted.json"), `{"api_key":"${createHash("sha1").update("planted").digest("hex")}"}`);
  const found = leaksIn(builtGitleaks, at, join(folder, "report.json"));
  expect(found.sort()).toEqual([
    "planted.js:1: private-key",
    "planted.json:1: generic-api-key",
    "planted.pem:1: private-key",
  ]);
});
