import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { roleNames } from "@muster/db";
import { type TestDatabase, testDatabase } from "@muster/testing";
import pg from "pg";
import { runProcess, serviceEnv } from "../support/service-process.ts";

const dispatcher = fileURLToPath(new URL("../../../services/webhook-dispatcher/", import.meta.url));
const folder = fileURLToPath(new URL("../../../services/tenancy/", import.meta.url));
const roles = roleNames("tenancy");
let database: TestDatabase;
let keysDir: string;

beforeAll(async () => {
  database = await testDatabase({ service: "tenancy", dirs: [{ label: "tenancy", path: join(folder, "migrations") }] });
  keysDir = await mkdtemp(join(tmpdir(), "muster-refusal-"));
});
afterAll(async () => {
  await database?.drop();
  await rm(keysDir, { recursive: true, force: true });
});

/** The real process. */
const start = (env: Record<string, string>, look?: () => Promise<void>) =>
  runProcess(join(folder, "dist", "main.js"), { ...serviceEnv(database, keysDir), ...env }, look);

/** Rows of the last statement. */
async function asSuperuser(...statements: string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database.superuserUrl });
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}

describe("a service process", () => {
  it("starts with its own role and ends on SIGTERM", async () => {
    const { status, output } = await start({});
    expect(output).toContain('"msg":"ready"');
    expect(status).toBe(0);
  });

  it("has all of its connections to the database when it reports that it is ready", async () => {
    let connections: unknown[] = [];
    const { status } = await start({ DATABASE_POOL_MAX: "7" }, async () => {
      connections = await asSuperuser(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = '${roles.app}'`,
      );
    });
    expect(connections).toHaveLength(7);
    expect(status).toBe(0);
  });

  it.each([
    ["as superuser", () => ({ DATABASE_URL_APP: database.superuserUrl }), /superuser/i],
    ["as the owner of its tables", () => ({ DATABASE_URL_APP: database.ownerUrl }), /own/i],
    ["without its settings", () => ({ NATS_URL: "" }), /NATS_URL/],
    ["with a port that is none", () => ({ RPC_PORT: "70000" }), /RPC_PORT/],
  ] as const)("refuses to start %s and names the cause", async (_name, env, said) => {
    const { status, output } = await start(env());
    expect(output).toMatch(said);
    expect(status).toBe(1);
  });

  it.each([
    [{ DELIVERY_LEASE_MS: "1000" }, "DELIVERY_LEASE_MS (1000) must be above DELIVERY_TIMEOUT_MS (30000)"],
    [
      { WEBHOOK_CONCURRENCY: "4" },
      "REPLAY_WINDOW (4) must be below WEBHOOK_CONCURRENCY (4): raise WEBHOOK_CONCURRENCY",
    ],
  ])("refuses to start with %j, whose order is wrong, and names both settings and the cure", async (env, said) => {
    const more = {
      TENANCY_URL: "http://127.0.0.1:1",
      SECRET_ENCRYPTION_KEY: `k1:${randomBytes(32).toString("base64")}`,
    };
    const { status, output } = await runProcess(join(dispatcher, "dist", "main.js"), {
      ...serviceEnv(database, keysDir),
      ...more,
      ...env,
    });
    expect(output).toContain(said);
    expect(status).toBe(1);
  });

  it.each([
    [
      "a table lacks row-level security",
      ["ALTER TABLE tenancy.partners DISABLE ROW LEVEL SECURITY"],
      ["ALTER TABLE tenancy.partners ENABLE ROW LEVEL SECURITY"],
      /partners/,
    ],
    [
      "its role lost a right",
      [`REVOKE SELECT ON tenancy.partners FROM ${roles.app}`],
      [`GRANT SELECT ON tenancy.partners TO ${roles.app}`],
      /partners/,
    ],
    [
      "a migration was edited",
      [
        "UPDATE tenancy.schema_migrations SET checksum = repeat('0', 64) WHERE label = 'tenancy' AND name LIKE '0001_baseline%'",
      ],
      [],
      /0001_baseline/,
    ],
  ])("refuses to start when %s and names the table or file", async (_name, spoil, mend, said) => {
    const { rows } = await checksums();
    await asSuperuser(...spoil);
    try {
      const { status, output } = await start({});
      expect(output).toMatch(said);
      expect(status).toBe(1);
    } finally {
      await asSuperuser(...mend, ...rows);
    }
  });

  it("accepts a migration that a newer version recorded", async () => {
    await asSuperuser(
      `INSERT INTO tenancy.schema_migrations (label, name, checksum, duration_ms)
       SELECT label, '9999_from_the_future.sql', repeat('1', 64), 1 FROM tenancy.schema_migrations
       WHERE label = 'tenancy' AND name LIKE '0001_baseline%'`,
    );
    const { status, output } = await start({});
    expect(output).toContain('"msg":"ready"');
    expect(status).toBe(0);
  });
});

/** Statements that put the recorded checksums back. */
async function checksums(): Promise<{ rows: string[] }> {
  const client = new pg.Client({ connectionString: database.superuserUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ label: string; name: string; checksum: string }>(
      "SELECT label, name, checksum FROM tenancy.schema_migrations",
    );
    return {
      rows: rows.map(
        (r) =>
          `UPDATE tenancy.schema_migrations SET checksum = '${r.checksum}' WHERE label = '${r.label}' AND name = '${r.name}'`,
      ),
    };
  } finally {
    await client.end();
  }
}
