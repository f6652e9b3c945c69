import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { archiveSettings } from "../../config.ts";
import { s3Server } from "../../testing/s3-server.ts";
import type { Archive } from "./archive.ts";
import { directoryArchive } from "./directory.ts";
import { openArchive } from "./open.ts";
import { s3Archive } from "./s3.ts";

const folder = () => mkdtemp(join(tmpdir(), "muster-archive-"));
const everything = async (archive: Archive, prefix: string) => {
  const found: { key: string; bytes: number }[] = [];
  for await (const object of archive.list(prefix)) found.push(object);
  return found;
};

type Opened = { archive: Archive; elsewhere: Archive; end(): Promise<void> };

const drivers: [string, () => Promise<Opened>][] = [
  [
    "a directory",
    async () => {
      const directory = await folder();
      return {
        archive: directoryArchive(directory, "one/"),
        elsewhere: directoryArchive(directory, "two/"),
        end: () => rm(directory, { recursive: true }),
      };
    },
  ],
  [
    "an S3 server",
    async () => {
      const server = await s3Server();
      const archive = s3Archive({ ...server.options, prefix: "one/" });
      const elsewhere = s3Archive({ ...server.options, prefix: "two/" });
      return { archive, elsewhere, end: () => server.stop() };
    },
  ],
];

describe.each(drivers)("an archive in %s", (_name, open) => {
  let opened: Opened;
  let archive: Archive;
  beforeAll(async () => {
    opened = await open();
    archive = opened.archive;
  });
  afterAll(async () => {
    await archive.close();
    await opened.elsewhere.close();
    await opened.end();
  });

  it("returns the bytes it was given, whatever they are and however many", async () => {
    for (const body of [Buffer.alloc(0), Buffer.from("ü\n"), randomBytes(5_000_000)]) {
      await archive.put("bytes/some.bin", body);
      const got = await archive.get("bytes/some.bin");
      expect(
        createHash("sha256")
          .update(got ?? "")
          .digest("hex"),
      ).toBe(createHash("sha256").update(body).digest("hex"));
    }
  });

  it("returns null for a missing key", async () => {
    expect(await archive.get("bytes/nothing")).toBeNull();
    expect(await everything(archive, "nowhere/")).toEqual([]);
  });

  it("keeps the newest object that is put under a key", async () => {
    await archive.put("twice", Buffer.from("first"));
    await archive.put("twice", Buffer.from("second"));
    expect(String(await archive.get("twice"))).toBe("second");
    expect((await everything(archive, "twice")).map(({ bytes }) => bytes)).toEqual([6]);
  });

  it("lists by prefix, within folders and across them, in order", async () => {
    const keys = ["list/a/1.gz", "list/a/10.gz", "list/a/2.gz", "list/ab", "list/b/c/d"];
    for (const key of [...keys].reverse()) await archive.put(key, Buffer.from(key));
    expect((await everything(archive, "list/")).map(({ key }) => key)).toEqual(keys);
    expect((await everything(archive, "list/a")).map(({ key }) => key)).toEqual(keys.slice(0, 4));
    expect((await everything(archive, "list/a/1")).map(({ key }) => key)).toEqual(keys.slice(0, 2));
    expect(await everything(archive, "list/ab")).toEqual([{ key: "list/ab", bytes: 7 }]);
  });

  it("lists nothing of another prefix in the same storage", async () => {
    await opened.elsewhere.put("list/other", Buffer.from("x"));
    expect(await archive.get("list/other")).toBeNull();
    expect((await everything(archive, "list/")).map(({ key }) => key)).not.toContain("list/other");
  });

  it("accepts objects that are to be locked", async () => {
    await archive.put("locked", Buffer.from("kept"), { lockUntil: new Date(Date.now() + 60_000) });
    expect(String(await archive.get("locked"))).toBe("kept");
  });

  it.each(["", "/a", "a/", "a//b", "../a", "a/../b", ".", "a b", "ü", "a\0"])("refuses the key %j", async (key) => {
    await expect(archive.put(key, Buffer.from("x"))).rejects.toThrow(TypeError);
    await expect(archive.get(key)).rejects.toThrow(TypeError);
  });
});

describe("a directory", () => {
  it("removes what a killed process left long ago, not what another one writes now", async () => {
    const directory = await folder();
    for (const [name, ageSeconds] of [["old", 7_200] as const, ["new", 60] as const]) {
      const path = join(directory, `.unfinished-${name}`);
      await writeFile(path, "half");
      const at = Date.now() / 1_000 - ageSeconds;
      await utimes(path, at, at);
    }
    await directoryArchive(directory).put("a", Buffer.from("x"));
    expect((await readdir(directory)).sort()).toEqual([".unfinished-new", "a"]);
    await rm(directory, { recursive: true });
  });

  it("hides objects that a crash left unfinished", async () => {
    const directory = await folder();
    const archive = directoryArchive(directory);
    await archive.put("a", Buffer.from("x"));
    await writeFile(join(directory, ".unfinished-1"), "half");
    expect((await everything(archive, "")).map(({ key }) => key)).toEqual(["a"]);
    await rm(directory, { recursive: true });
  });

  it("makes locked objects read-only", async () => {
    const directory = await folder();
    await directoryArchive(directory).put("a", Buffer.from("x"), { lockUntil: new Date() });
    expect((await stat(join(directory, "a"))).mode & 0o222).toBe(0);
    await rm(directory, { recursive: true });
  });
});

describe("an S3 server", () => {
  it("fails, instead of being empty, when it is unavailable or refuses our key", async () => {
    const server = await s3Server();
    const wrong = { accessKeyId: "nobody", secretAccessKey: "wrong" };
    const foreign = s3Archive({ ...server.options, credentials: wrong, prefix: "" });
    await expect(foreign.put("a", Buffer.from("x"))).rejects.toThrow(/key/i);
    await foreign.close();
    await server.stop();
    const archive = s3Archive({ ...server.options, prefix: "" });
    await expect(archive.put("a", Buffer.from("x"))).rejects.toThrow();
    await expect(archive.get("a")).rejects.toThrow();
    await expect(everything(archive, "")).rejects.toThrow();
    await archive.close();
  });
});

describe("a lock", () => {
  /** Records the requests to a storage that accepts everything. */
  async function headersOf(options?: { lockUntil: Date }): Promise<IncomingHttpHeaders> {
    let arrived: IncomingHttpHeaders = {};
    const server = createServer((request, response) => {
      arrived = request.headers;
      request.resume().once("end", () => response.writeHead(200, { etag: '"0"' }).end());
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const credentials = { accessKeyId: "a", secretAccessKey: "b" };
    const where = { bucket: "audit", endpoint, region: "us-east-1", pathStyle: true, credentials, timeoutMs: 10_000 };
    const archive = s3Archive({ ...where, prefix: "" });
    await archive.put("a", Buffer.from("kept"), options);
    await archive.close();
    await promisify(server.close.bind(server))();
    return arrived;
  }

  it("is requested in compliance mode until its time, with the digest that storages require for it", async () => {
    const headers = await headersOf({ lockUntil: new Date("2031-02-03T04:05:06.000Z") });
    expect(headers).toMatchObject({
      "x-amz-object-lock-mode": "COMPLIANCE",
      "x-amz-object-lock-retain-until-date": expect.stringMatching(/^2031-02-03T04:05:06(\.000)?Z$/),
      "content-md5": createHash("md5").update("kept").digest("base64"),
    });
    // Covered by the signature: no intermediary can remove it.
    expect(headers.authorization).toContain("x-amz-object-lock-retain-until-date");
  });

  it("is not requested otherwise", async () => {
    expect(Object.keys(await headersOf()).filter((name) => name.includes("lock"))).toEqual([]);
  });
});

describe("the settings of an archive", () => {
  const parse = (env: Record<string, string>) => openArchive(z.object(archiveSettings).parse(env));

  it("name a bucket, a directory or none, never two", async () => {
    expect(await parse({})).toBeNull();
    expect((await parse({ ARCHIVE_DIRECTORY: "/var/archive", ARCHIVE_PREFIX: "a/" }))?.name).toBe("/var/archive/a/");
    const bucket = await parse({ ARCHIVE_S3_BUCKET: "rows", ARCHIVE_S3_ENDPOINT: "http://127.0.0.1:1" });
    expect(bucket?.name).toBe("s3://rows/");
    await bucket?.close();
    await expect(parse({ ARCHIVE_S3_BUCKET: "rows", ARCHIVE_DIRECTORY: "/x" })).rejects.toThrow(/both/);
    expect(() => z.object(archiveSettings).parse({ ARCHIVE_PREFIX: "no-slash" })).toThrow(/slash/);
  });
});
