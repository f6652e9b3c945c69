import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { requestHeaders } from "./request.ts";
import { newSigningKey, signerOf } from "./signing-key.ts";

const docs = fileURLToPath(new URL("../../../../docs/", import.meta.url));
const body = Buffer.from('{"id":"1","type":"device.online","data":{"name":"Zürich"}}');
const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const [key, earlier, other] = [newSigningKey(), newSigningKey(), newSigningKey()];
const textOf = ({ publicKey }: typeof key) => `whpk_${publicKey.toString("base64")}`;

/** The headers of a request that these secrets and keys signed. */
function signed(secrets: string[], keys: (typeof key)[], now = new Date()): Record<string, string> {
  const pairs = requestHeaders(
    {
      ...{ messageId: `msg_${uuidv7()}`, deliveryId: uuidv7(), eventId: uuidv7(), eventType: "device.online" },
      ...{ source: "platform", body, attempt: 1, possibleDuplicate: false, customHeaders: [], userinfo: null },
      secrets,
      signers: keys.map(({ privateKey }) => signerOf(privateKey)),
    },
    now,
  );
  return Object.fromEntries(
    pairs.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), pairs[at + 1] ?? ""]] : [])),
  );
}

describe("a header with symmetric and asymmetric signatures", () => {
  it("passes the libraries that know only the symmetric ones, and fails them for another body", () => {
    const headers = signed(["whsec_bmV3ZXJuZXdlcm5ld2VybmV3ZXI=", secret], [key, earlier]);
    expect(headers["webhook-signature"]).toMatch(/^v1,\S+ v1,\S+ v1a,\S+ v1a,\S+$/);
    for (const library of [new StandardWebhook(secret), new SvixWebhook(secret)]) {
      expect(library.verify(body, headers)).toMatchObject({ type: "device.online" });
      expect(() => library.verify('{"id":"2"}', headers)).toThrow();
      expect(() => library.verify(body, signed([], [key]))).toThrow();
    }
  });

  it("has the symmetric ones alone for a webhook without a key pair", () => {
    expect(signed([secret], [])["webhook-signature"]).toMatch(/^v1,\S+$/);
    expect(signed([], [])["webhook-signature"]).toBeUndefined();
  });
});

let scratch = "";
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "verify-webhook-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const example = (name: string) => join(docs, "examples", name);
const binary = () => join(scratch, "verify");
/** Programs of the docs: what must be there to run one, what builds it, and how it runs. */
const programs: [string, string[], string[] | null, () => string[]][] = [
  ["node:crypto", ["node", "--version"], null, () => [process.execPath, example("verify-webhook.mjs")]],
  ["Python", ["python3", "-c", "import cryptography"], null, () => ["python3", example("verify_webhook.py")]],
  ["Go", ["go", "version"], ["go", "build", "-o", "verify", example("verify_webhook.go")], () => [binary()]],
  [
    "Java",
    ["javac", "--version"],
    ["javac", "-d", ".", example("VerifyWebhook.java")],
    () => ["java", "VerifyWebhook"],
  ],
];

const run = ([command = "", ...args]: readonly string[], input: Buffer = Buffer.alloc(0)) =>
  spawnSync(command, args, { cwd: scratch || undefined, input, env: { ...process.env, GOFLAGS: "-mod=mod" } });

describe.each(programs)("the program of the docs for %s", (name, toolchain, build, command) => {
  // Skipped where the toolchain is absent; for Python also where the package cryptography is.
  const here = run(toolchain).status === 0 ? it : it.skip;

  here(
    `verifies with a secret and with a public key, and nothing else (${name})`,
    () => {
      if (build) expect(run(build)).toMatchObject({ status: 0 });
      const accepts = (headers: Record<string, string>, by: string, sent = body) => {
        const { "webhook-id": id = "", "webhook-timestamp": at = "", "webhook-signature": signatures = "" } = headers;
        return run([...command(), id, at, signatures, by], sent).status === 0;
      };
      const both = signed([secret], [key, earlier]);
      expect(accepts(both, secret)).toBe(true);
      expect(accepts(both, textOf(key))).toBe(true);
      // Of a rotation: who has only the earlier key.
      expect(accepts(both, textOf(earlier))).toBe(true);
      expect(accepts(both, textOf(other))).toBe(false);
      expect(accepts(both, "another secret")).toBe(false);
      expect(accepts(signed(["plain secret"], []), "plain secret")).toBe(true);
      expect(accepts(signed([secret], []), textOf(key))).toBe(false);
      for (const by of [secret, textOf(key)]) {
        expect(accepts(both, by, Buffer.from('{"id":"2"}'))).toBe(false);
        expect(accepts(signed([secret], [key], new Date(Date.now() - 600_000)), by)).toBe(false);
      }
    },
    120_000,
  );
});

it("each of these programs stands on the page, and those that are not run say so", () => {
  const page = readFileSync(join(docs, "webhooks.md"), "utf8");
  const names = readdirSync(join(docs, "examples")).filter((name) => /^verify.?webhook/i.test(name));
  expect(names).toHaveLength(6);
  for (const name of [...names, "webhook-receiver.mjs"]) expect(page).toContain(`(examples/${name})`);
  for (const name of ["VerifyWebhook.cs", "verify_webhook.php"]) {
    expect(readFileSync(example(name), "utf8")).toContain("Not run by Muster's tests");
  }
});
