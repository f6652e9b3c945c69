import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { clusterFolder, openDataFolder, readJson, takeDataFolder, writeJson } from "./data-folder.ts";
import { firstAdmin } from "./first-admin.ts";
import { loadKeys, loginRoles } from "./keys.ts";
import { Problem } from "./problem.ts";
import { birthOf } from "./process-table.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "muster-data-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

describe("the data folder", () => {
  it("keeps keys and logs from other users", () => {
    openDataFolder(dataDir);
    for (const folder of ["keys", "logs"]) expect(statSync(join(dataDir, folder)).mode & 0o777).toBe(0o700);
  });

  it("is refused with its name and a cure when it cannot be made", () => {
    const file = join(dataDir, "file");
    writeFileSync(file, "");
    expect(() => openDataFolder(join(file, "data"))).toThrow(Problem);
    expect(() => openDataFolder(join(file, "data"))).toThrow("MUSTER_DATA_DIR");
  });

  it("with keys that cannot be read is refused, and they stay as they are", () => {
    openDataFolder(dataDir);
    const file = join(dataDir, "keys", "secrets.json");
    writeFileSync(file, '{"superuserPassword": ');
    expect(() => loadKeys(dataDir)).toThrow("is not JSON");
    expect(readFileSync(file, "utf8")).toBe('{"superuserPassword": ');
  });

  it("holds PostgreSQL's cluster, unless another folder was saved", () => {
    expect(clusterFolder(dataDir, null)).toEqual({ folder: join(dataDir, "postgres"), elsewhere: false });
    writeFileSync(join(dataDir, "postgres.place"), "/var/lib/somewhere\n");
    expect(clusterFolder(dataDir, null)).toEqual({ folder: "/var/lib/somewhere", elsewhere: true });
  });

  it("belongs to one supervisor at a time, and the refusal names its pid", async () => {
    const lock = await takeDataFolder(dataDir, "http://127.0.0.1:1");
    await expect(takeDataFolder(dataDir, "http://127.0.0.1:2")).rejects.toThrow(`process ${process.pid}`);
    lock.release();
    (await takeDataFolder(dataDir, "http://127.0.0.1:2")).release();
  });

  it("can be taken from a supervisor that has ended, also when another process has its pid now", async () => {
    const file = join(dataDir, "supervisor.json");
    // The test itself has that pid, was born at another time, and its command line does not name this folder: it must
    // survive.
    writeJson(file, { pid: process.pid, birth: `${birthOf(process.pid)}0`, url: "", children: { audit: process.pid } });
    const lock = await takeDataFolder(dataDir, "http://127.0.0.1:1");
    expect(lock.leftOver).toEqual([]);
    expect(readJson<{ birth: string }>(file)?.birth).toBe(birthOf(process.pid));
  });

  it("reads a missing or half-written file as absent and writes whole ones for its owner only", () => {
    const file = join(dataDir, "x.json");
    expect(readJson(file)).toBeNull();
    writeFileSync(file, '{"a":');
    expect(readJson(file)).toBeNull();
    writeJson(file, { a: 1 });
    expect(readJson(file)).toEqual({ a: 1 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe("keys", () => {
  it("are made once, kept for the owner only, and completed when a part is new", () => {
    openDataFolder(dataDir);
    const first = loadKeys(dataDir);
    expect(loadKeys(dataDir)).toEqual(first);
    const file = join(dataDir, "keys", "secrets.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { enrollmentKeyPepper: _, ...without } = JSON.parse(readFileSync(file, "utf8"));
    writeJson(file, without);
    const second = loadKeys(dataDir);
    expect(second.enrollmentKeyPepper).not.toBe(first.enrollmentKeyPepper);
    expect(second.callers).toEqual(first.callers);
  });

  it("publish each issuer's caller key and give every role that logs in its own password", () => {
    openDataFolder(dataDir);
    const keys = loadKeys(dataDir);
    const { kid, publicPem } = keys.callers["device-logs"];
    expect(readFileSync(join(keys.callerPublicDir, "device-logs", `${kid}.pem`), "utf8")).toBe(publicPem);
    expect(Object.keys(keys.rolePasswords)).toEqual(loginRoles());
    expect(new Set(Object.values(keys.rolePasswords)).size).toBe(loginRoles().length);
  });
});

describe("the first administrator's password", () => {
  beforeEach(() => mkdirSync(join(dataDir, "keys")));
  const copies = () => existsSync(join(dataDir, "keys", "first-admin.pending"));

  it("stays the same until it was used, then no copy remains and none is made again", () => {
    const interrupted = firstAdmin(dataDir, undefined);
    const admin = firstAdmin(dataDir, undefined);
    expect(admin.password).toBe(interrupted.password);
    expect(admin.generated).toBe(true);
    admin.done();
    expect(copies()).toBe(false);
    expect(admin.password).toBeUndefined();
    expect(firstAdmin(dataDir, undefined).password).toBeUndefined();
    expect(firstAdmin(dataDir, "a given password").password).toBeUndefined();
  });

  it("is passed on, never written, when it was given", () => {
    const admin = firstAdmin(dataDir, "a given password");
    expect(admin).toMatchObject({ password: "a given password", generated: false });
    expect(copies()).toBe(false);
  });
});
