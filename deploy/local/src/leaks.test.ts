import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type TestDatabase, testDatabase } from "@muster/db/testing";
import { secretScanner } from "@muster/testing";
import pg from "pg";

const secret = `svc_${randomBytes(24).toString("base64url")}`;
const digest = createHash("sha256").update(secret).digest();
const script = "../jest/leaks.mjs";
let database: TestDatabase;
let directory: string;
let leaksOf: (directory: string, scan: { secretScanner: typeof secretScanner }) => Promise<string[]>;

beforeAll(async () => {
  ({ leaksOf } = (await import(script)) as { leaksOf: typeof leaksOf });
  database = await testDatabase({ service: "audit", dirs: [] });
  directory = mkdtempSync(join(tmpdir(), "muster-leaks-"));
  for (const folder of ["secrets", "data/logs"]) mkdirSync(join(directory, folder), { recursive: true });
  const stack = { databaseUrl: database.ownerUrl, services: { identity: {}, audit: {} } };
  writeFileSync(join(directory, "data", "stack.json"), JSON.stringify(stack));
  const line = { name: "key", hex: Buffer.from(secret).toString("hex") };
  for (const name of ["gateway", "identity", "audit"]) {
    writeFileSync(join(directory, "data", "logs", `${name}.log`), '{"msg":"ready"}\n');
  }
  writeFileSync(join(directory, "secrets", "1.jsonl"), `${JSON.stringify(line)}\n`);
});
afterAll(async () => {
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
});

const store = async (text: string, values: unknown[]) => {
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await client.query(text, values).finally(() => client.end());
};

describe("the search after a run of tests", () => {
  it("is content while nothing was written down, though outboxes name keys by digest", async () => {
    await store("INSERT INTO outbox (subject, msg_id, body) VALUES ('auth.key', 'x', $1)", [digest]);
    expect(await leaksOf(directory, { secretScanner })).toEqual([]);
  });

  it("names log and table that hold a secret or, but for messages, its digest", async () => {
    writeFileSync(join(directory, "data", "logs", "audit.log"), `{"digest":"${digest.toString("hex")}"}\n`);
    await store("INSERT INTO outbox (subject, msg_id, body) VALUES ('audit.x', 'y', $1)", [
      Buffer.from(`a ${secret} b`),
    ]);
    await store("INSERT INTO job (id, kind, input) VALUES (gen_random_uuid(), 'x', $1)", [JSON.stringify({ secret })]);
    const leaks = await leaksOf(directory, { secretScanner });
    expect(leaks).toHaveLength(3);
    expect(leaks[0]).toMatch(/audit\.log holds the secret "key" \(SHA-256 hex\)$/);
    expect(leaks.slice(1)).toEqual([
      'audit.job holds the secret "key" (as it is)',
      'audit.outbox holds the secret "key" (hex)',
    ]);
  });

  it("names a process whose log is missing", async () => {
    rmSync(join(directory, "data", "logs", "gateway.log"));
    expect(await leaksOf(directory, { secretScanner })).toContain("gateway has no log that could be searched");
  });

  it("has nothing to do where no cluster was started", async () => {
    expect(await leaksOf(join(directory, "secrets"), { secretScanner })).toEqual([]);
  });
});
