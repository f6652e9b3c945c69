import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { tenantMigrations } from "@muster/service";
import { type TestDatabase, testDatabase } from "@muster/testing";
import { runProcess, serviceEnv } from "../support/service-process.ts";

const folder = fileURLToPath(new URL("../../../services/identity/", import.meta.url));
let database: TestDatabase;
let keysDir: string;

beforeAll(async () => {
  const own = { label: "identity", path: join(folder, "migrations") };
  database = await testDatabase({ service: "identity", dirs: [tenantMigrations, own] });
  keysDir = await mkdtemp(join(tmpdir(), "muster-pepper-"));
});
afterAll(async () => {
  await database?.drop();
  await rm(keysDir, { recursive: true, force: true });
});

/** Identity as in production. */
function start(env: Record<string, string>) {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return runProcess(join(folder, "dist", "main.js"), {
    NODE_ENV: "production",
    ...serviceEnv(database, keysDir),
    TENANCY_URL: "http://127.0.0.1:1",
    JWT_PRIVATE_KEYS: `k:${privateKey.export({ format: "der", type: "pkcs8" }).toString("base64")}`,
    PASSWORD_SCRYPT_LOG_N: "12",
    ...env,
  });
}

const encryptionKey = `a:${randomBytes(32).toString("base64")}`;

describe("identity in production", () => {
  it("does not start without anything to pepper enrollment keys with", async () => {
    const { status, output } = await start({});
    expect(status).not.toBe(0);
    expect(output).toContain("No enrollment key pepper configured");
  });

  it("does not start with a pepper alone, and reports which key is missing", async () => {
    const { status, output } = await start({ JWT_SECRET: "long enough" });
    expect(status).not.toBe(0);
    expect(output).toContain("SECRET_ENCRYPTION_KEY or APP_ENCRYPTION_KEY must be set");
  });

  it.each([
    ["a pepper and a key", { ENROLLMENT_KEY_PEPPER: "p", SECRET_ENCRYPTION_KEY: encryptionKey }],
    ["SECRET_ENCRYPTION_KEY", { SECRET_ENCRYPTION_KEY: encryptionKey }],
    ["APP_ENCRYPTION_KEY", { APP_ENCRYPTION_KEY: encryptionKey }],
  ])("starts with %s, and never shows it", async (_name, settings) => {
    const { status, output } = await start(settings as Record<string, string>);
    expect(output).toContain('"msg":"ready"');
    expect(output).not.toContain(encryptionKey);
    expect(status).toBe(0);
  });
});
