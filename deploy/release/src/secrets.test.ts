import { generateKeyPairSync } from "node:crypto";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";

let secretsIn: (text: string) => string[];
beforeAll(async () => {
  const script = "../check/secrets.mjs";
  ({ secretsIn } = (await import(script)) as { secretsIn: typeof secretsIn });
});

const root = fileURLToPath(new URL("../../../", import.meta.url));
const pem = String(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));

describe("the search for secrets in a release", () => {
  const secrets: [string, string, string][] = [
    ["a PEM file", pem, "a private key"],
    ["a PEM in a string of code", JSON.stringify(pem), "a private key"],
    ["a token of npm", `token npm_${"a1B2".repeat(9)} here`, "a token of npm"],
    ["a setting of npm", "//registry.example/:_authToken=x", "a credential in a registry's address"],
    ["an address with a password", "https://ann:pw@registry.example/x", "a credential in a registry's address"],
    ["a source map of this checkout", `{"sources":["${root}gateway/src/main.ts"]}`, "the path of this checkout"],
    [
      "a path of what the bundler adds",
      'createRequire(new URL("../../checkout/\\0rolldown/runtime.js", import.meta.url).href)',
      "a path of the bundler's own modules",
    ],
    ["a path of the build", '"/dist/release/.1.4.0-rc.1.4711/tree/gateway"', "a temporary folder of the build"],
  ];
  it.each(secrets)("finds %s", (_name, text, found) => {
    expect(secretsIn(text)).toContain(found);
  });

  it.each([
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n$body",
    "https://registry.npmjs.org/a/-/a-1.0.0.tgz",
    "npm_config_registry",
  ])("passes what only looks like one: %j", (text) => {
    expect(secretsIn(text)).toEqual([]);
  });
});
