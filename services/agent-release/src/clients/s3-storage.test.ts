import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bucket, startBucket } from "../testing/bucket.ts";
import { type S3Options, s3Storage } from "./s3-storage.ts";
import type { Storage } from "./storage.ts";

const bytes = Buffer.from("binary ".repeat(200_000));
const sha256 = createHash("sha256").update(bytes).digest("hex");

let directory: string;
let bucket: Bucket;
const opened: Storage[] = [];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "muster-s3-"));
  bucket = await startBucket("key", "secret");
  await writeFile(join(directory, "file"), bytes);
  await open().putFile(sha256, join(directory, "file"), bytes.length);
}, 60_000);
afterAll(async () => {
  for (const storage of opened) storage.close();
  await bucket?.close();
  await rm(directory, { recursive: true, force: true });
});

function open(change: Partial<S3Options> = {}): Storage {
  const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
  const common = { bucket: "binaries", prefix: "releases/", region: "us-east-1", pathStyle: true, proxy: false };
  const storage = s3Storage({ ...common, endpoint: bucket.endpoint, credentials, ...change });
  opened.push(storage);
  return storage;
}
const wrong = { credentials: { accessKeyId: "key", secretAccessKey: "guessed" } };

async function read(storage: Storage, start: number, end: number): Promise<Buffer | null> {
  const body = await storage.read(sha256, start, end);
  if (!body) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("a bucket", () => {
  it("stores a file and returns it, whole or in part", async () => {
    expect((await read(open(), 0, bytes.length))?.equals(bytes)).toBe(true);
    expect((await read(open(), 7, 13))?.toString()).toBe("binary");
  });

  it("returns a signed URL to clients that is valid for its file only", async () => {
    const url = String(await open().urlOf(sha256, "muster-agent.exe"));
    const reply = await fetch(url);
    expect([reply.status, reply.headers.get("content-disposition")]).toEqual([
      200,
      'attachment; filename="muster-agent.exe"',
    ]);
    expect(Buffer.from(await reply.arrayBuffer()).equals(bytes)).toBe(true);
    expect(new URL(url).searchParams.get("X-Amz-Expires")).toBe("300");
    const changed = await fetch(url.replace("muster-agent.exe", "other.exe"));
    expect(changed.status).toBe(403);
    const foreign = await fetch(String(await open(wrong).urlOf(sha256, "muster-agent.exe")));
    expect(foreign.status).toBe(403);
  });

  it("returns no URL to clients when its files are streamed through the platform", async () => {
    expect(await open({ proxy: true }).urlOf(sha256, "agent")).toBeNull();
  });

  it("answers others while very many slow clients are sent its files", async () => {
    const storage = open({ proxy: true });
    const slow: AsyncIterator<Uint8Array>[] = [];
    for (let n = 0; n < 64; n++) {
      const body = await storage.read(sha256, 0, bytes.length);
      if (!body) throw new Error("not stored");
      slow.push(body[Symbol.asyncIterator]());
      await slow.at(-1)?.next();
    }
    expect((await read(storage, 7, 13))?.toString()).toBe("binary");
    for (const body of slow) await body.return?.();
  });

  it("refuses requests signed with another key", async () => {
    const foreign = open(wrong);
    await expect(foreign.read(sha256, 0, 1)).rejects.toMatchObject({ name: "SignatureDoesNotMatch" });
    const put = foreign.putFile(sha256, join(directory, "file"), bytes.length);
    await expect(put).rejects.toMatchObject({ name: "SignatureDoesNotMatch" });
  });

  it("refuses bytes that do not match their digest", async () => {
    const other = createHash("sha256").update("other").digest("hex");
    const put = open().putFile(other, join(directory, "file"), bytes.length);
    await expect(put).rejects.toMatchObject({ name: "BadDigest" });
    expect([...bucket.objects.keys()]).toEqual([`/binaries/releases/${sha256.slice(0, 2)}/${sha256}`]);
  });

  it("returns nothing for a removed file, and nothing outside of its keys", async () => {
    const storage = open();
    const other = createHash("sha256").update("other").digest("hex");
    await writeFile(join(directory, "other"), "other");
    await storage.putFile(other, join(directory, "other"), 5);
    expect(await storage.has(other)).toBe(true);
    await storage.remove(other);
    expect(await storage.has(other)).toBe(false);
    expect(await storage.read(other, 0, 1)).toBeNull();
    await expect(storage.read("../../etc/passwd", 0, 1)).rejects.toThrow("not the SHA-256 of a stored file");
  });
});
