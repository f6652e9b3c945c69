import { generateKeyPairSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { tenantMigrations } from "@muster/service";
import { type TestDatabase, testDatabase, until } from "@muster/testing";
import pg from "pg";
import type { Cluster } from "../support/cluster.ts";
import { runProcess } from "../support/service-process.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

const folder = fileURLToPath(new URL("../../../services/audit/", import.meta.url));
const { privateKey } = generateKeyPairSync("ed25519");
const noteKey = `test:${privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")}`;

/** The worker. */
const start = (env: Record<string, string>) =>
  runProcess(join(folder, "dist", "retention-main.js"), {
    OPS_HOST: "127.0.0.1",
    OPS_PORT: "0",
    CHECKPOINT_PRIVATE_KEY: noteKey,
    ...env,
  });

describe("the retention worker", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    const dirs = [tenantMigrations, { label: "audit", path: join(folder, "migrations") }];
    database = await testDatabase({ service: "audit", dirs });
  });
  afterAll(async () => {
    await database?.drop();
  });

  it("starts as the pruner, and ends on SIGTERM", async () => {
    const { status, output } = await start({ DATABASE_URL_PRUNER: database.dutyUrl("pruner") });
    expect(output).toContain('"msg":"ready"');
    expect(status).toBe(0);
  });

  it.each([
    ["as superuser", () => ({ DATABASE_URL_PRUNER: database.superuserUrl }), /superuser/],
    ["as the owner", () => ({ DATABASE_URL_PRUNER: database.ownerUrl }), /owner/],
    ["as the service", () => ({ DATABASE_URL_PRUNER: database.appUrl }), /not its duty/],
    ["without a database", () => ({}), /DATABASE_URL_PRUNER/],
    [
      "without a key to sign with",
      () => ({ DATABASE_URL_PRUNER: database.dutyUrl("pruner"), CHECKPOINT_PRIVATE_KEY: "" }),
      /CHECKPOINT_PRIVATE_KEY/,
    ],
    [
      "with two archives",
      () => ({ DATABASE_URL_PRUNER: database.dutyUrl("pruner"), ARCHIVE_S3_BUCKET: "a", ARCHIVE_DIRECTORY: "/b" }),
      /both set/,
    ],
  ] as const)("refuses to start %s and reports why", async (_name, env, said) => {
    const { status, output } = await start(env());
    expect(output).toMatch(said);
    expect(status).toBe(1);
  });

  it("refuses to start when its role may do more than its duty", async () => {
    const client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    await client.query("GRANT INSERT ON audit_log TO muster_audit_pruner");
    await client.end();
    const { status, output } = await start({ DATABASE_URL_PRUNER: database.dutyUrl("pruner") });
    expect(output).toMatch(/may INSERT on table/);
    expect(status).toBe(1);
  });
});

describe("the local stack", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await sharedCluster();
  }, 240_000);

  it("runs the worker as a separate process that has processed the chains", async () => {
    const stack = JSON.parse(await readFile(join(cluster.dataDir, "stack.json"), "utf8"));
    const worker = stack.workers["audit-retention"];
    expect(worker.pid).not.toBe(stack.services.audit.pid);
    const state = await until("a pass", async () => {
      const text = await (await fetch(`${worker.ops}/metrics`)).text();
      const [, time] = /^muster_audit_retention_last_success_timestamp_seconds (\S+)$/m.exec(text) ?? [];
      return Number(time) > 0 ? text : null;
    });
    expect(state).toMatch(/^muster_audit_retention_blocked_chains 0$/m);
  });
});
