import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type S3Server, s3Server } from "../testing/s3-server.ts";
import type { Archive } from "./archive/archive.ts";
import { s3Archive } from "./archive/s3.ts";
import { s3Backups } from "./backups.ts";

const program = fileURLToPath(new URL("../../dist/backup-main.js", import.meta.url));
const at = (day: number) => `muster-2026-01-0${day}T021700Z.dump`;

describe("backups in an S3 server", () => {
  let server: S3Server;
  let folder: string;
  let stored: Archive;
  beforeAll(async () => {
    server = await s3Server();
    folder = await mkdtemp(join(tmpdir(), "muster-backups-"));
    stored = s3Archive({ ...server.options, prefix: "dumps/" });
  });
  afterAll(async () => {
    await stored.close();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const names = async () => {
    const found: string[] = [];
    for await (const { key } of stored.list("")) found.push(key);
    return found.sort();
  };
  /** Runs the program as the chart's container does; resolves to its status and what it wrote. */
  async function run(more: Record<string, string> = {}): Promise<{ status: number; output: string }> {
    const { endpoint, credentials } = server.options;
    const env = {
      PATH: process.env.PATH,
      BACKUP_DIR: folder,
      BACKUP_KEEP: "2",
      BACKUP_S3_BUCKET: "audit",
      BACKUP_S3_PREFIX: "dumps/",
      BACKUP_S3_ENDPOINT: endpoint ?? "",
      BACKUP_S3_PATH_STYLE: "true",
      BACKUP_S3_ACCESS_KEY_ID: credentials.accessKeyId,
      BACKUP_S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      ...more,
    };
    const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [out, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    return { status: Number(status), output: out + errors };
  }

  it("are uploaded in parts and come back byte by byte, while the oldest goes", async () => {
    for (const day of [1, 2]) await stored.put(at(day), Buffer.from("older"));
    await stored.put("muster-notes.txt", Buffer.from("ours"));
    // Two parts, the second a short one.
    const dump = Buffer.alloc(17 * 1024 * 1024, "row ");
    dump.write("end", dump.length - 3);
    await writeFile(join(folder, at(3)), dump);
    await writeFile(join(folder, `${at(4)}.partial`), "half");
    const { status, output } = await run();
    expect(output).toContain("backup stored");
    expect(output).not.toContain("S3RVER");
    expect(status).toBe(0);
    expect(await names()).toEqual([at(2), at(3), "muster-notes.txt"]);
    expect((await stored.get(at(3)))?.equals(dump)).toBe(true);
  });

  it.each([
    ["a bucket that does not exist", { BACKUP_S3_BUCKET: "nowhere" }, "NoSuchBucket"],
    ["an unknown key", { BACKUP_S3_ACCESS_KEY_ID: "UNKNOWN" }, "InvalidAccessKeyId"],
    ["a directory without a backup", { BACKUP_DIR: tmpdir() }, "has no backup"],
    ["a setting that cannot be read", { BACKUP_KEEP: "all" }, "BACKUP_KEEP"],
    ["a storage that is no URL", { BACKUP_S3_ENDPOINT: "minio" }, "BACKUP_S3_ENDPOINT"],
  ])("fail with %s, and remove nothing", async (_name, more, said) => {
    const before = await names();
    const { status, output } = await run(more);
    expect(output).toContain(said);
    expect(status).toBe(1);
    expect(await names()).toEqual(before);
  });

  it("leave nothing of a file that is shorter than it was", async () => {
    const path = join(folder, at(5));
    await writeFile(path, "short");
    const backups = s3Backups({ ...server.options, prefix: "dumps/" });
    await expect(backups.put(at(5), path, 100)).rejects.toThrow("ended after 5 of 100 bytes");
    expect(await names()).not.toContain(at(5));
    backups.close();
  });
});
