import { generateKeyPairSync } from "node:crypto";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";

let secretsIn: (text: string) => string[];
beforeAll(async () => {
  const script = "../check/secrets.mjs";
  ({ secretsIn } = (await import(script)) as { secretsIn: typeof secretsIn });
});

const root = fileURLToPath(new URL("../../../", import.meta.url));
const der = (type: "ed25519" | "ec") => {
  const { privateKey } =
    type === "ec" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "der" }).toString("base64");
};
const pem = String(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));

describe("the search for secrets in a release", () => {
  const secrets: [string, string, string][] = [
    ["a PEM file", pem, "a private key"],
    ["a PEM in a string of code", JSON.stringify(pem), "a private key"],
    ["a key that signs releases", `releases.example.com:${der("ed25519")}`, "a private key in base64"],
    ["a key that signs access tokens", `"JWT_PRIVATE_KEYS":"j2:${der("ec")}"`, "a private key in base64"],
    ["a seed of a NATS key", `"seed":"SU${"A2B7".repeat(14)}"`, "a seed of a NATS key"],
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
    [
      "a path of the site's build",
      "file:///tmp/muster-site-a1B2c3/pages/index.md",
      "a temporary folder of the site's build",
    ],
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
