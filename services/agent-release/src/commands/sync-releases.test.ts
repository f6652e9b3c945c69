import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type CallContext, generateNoteKey, noteKeys, signNote } from "@muster/kit";
import { until } from "@muster/testing";
import { githubSource } from "../clients/github-source.ts";
import { directoryStorage, type Storage } from "../clients/storage.ts";
import { asItself } from "../emits/audit.ts";
import { releaseSigner, startRelease, type TestRelease } from "../testing/release.ts";
import { type Failure, type ReleaseHost, releaseFiles, startReleaseHost } from "../testing/release-host.ts";
import { removeUnused } from "./remove-files.ts";
import { type SyncDeps, syncOnce, syncReleases } from "./sync-releases.ts";

const signer = releaseSigner;
const token = "secret-token";
const sha256Of = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const binary = "muster-agent-linux-amd64";

let service: TestRelease;
let host: ReleaseHost;
let deps: SyncDeps;
beforeAll(async () => {
  service = await startRelease();
  host = await startReleaseHost();
  const { egress, apiUrl } = host;
  const source = githubSource({ egress, apiUrl, repository: "o/r", token });
  const { db, log, now } = service.deps;
  deps = {
    db,
    log,
    now,
    keys: [signer],
    unsigned: false,
    sources: [source],
    storage: null,
    storeAll: false,
    autoPromote: true,
  };
});
afterAll(async () => {
  await host?.close();
  await service?.stop();
});
beforeEach(() => {
  host.releases.splice(0);
  host.failures.clear();
  host.requests.splice(0);
  host.answer(null);
});

const context = (): CallContext => ({
  ...asItself(),
  deadlineMs: performance.now() + 30_000,
  signal: new AbortController().signal,
});
const sync = (version: string | null = null, wake: () => void = () => void syncOnce(deps)) =>
  syncReleases(deps, context(), { source: "github", version }, wake);
const publish = (tag: string, more: object = {}) =>
  host.releases.push({ tag_name: tag, files: releaseFiles(tag.replace(/^v/, ""), signer), ...more });
const rows = (version: string) =>
  service.deps.db.read<{ source_url: string; stored: boolean; notes_url: string; signed: boolean }>(
    asItself(),
    sql`SELECT a.source_url, a.stored, r.notes_url, r.signed FROM release r JOIN artifact a ON a.release_id = r.id
        WHERE r.version = ${version}`,
  );

describe("a sync from a GitHub-style host", () => {
  it("uses the newest stable version, past drafts and pre-releases, and follows redirects without the token", async () => {
    publish("v1.9.0");
    publish("v1.10.0");
    publish("v1.11.0", { draft: true });
    publish("v1.12.0", { prerelease: true });
    publish("v1.13.0-rc.1");
    publish("nightly");
    expect(await sync()).toEqual({ version: "1.10.0", synced: ["agent:linux/amd64"], skipped: [] });
    const [row] = await rows("1.10.0");
    expect(row).toMatchObject({ stored: false, signed: true, notes_url: "https://api.example.test/notes/v1.10.0" });
    expect(row?.source_url).toMatch(/\/o\/r\/releases\/download\/v1\.10\.0\/muster-agent-linux-amd64$/);
    const byHost = (name: string) =>
      new Set(host.requests.filter((each) => each.host === name).map((each) => each.authorization));
    expect(byHost("api.example.test")).toEqual(new Set([`Bearer ${token}`]));
    // The other host learns nothing of the token.
    expect(byHost("files.example.test")).toEqual(new Set([undefined]));
  });

  it("uses a version by name, with or without its v; a draft and an unknown one are not found", async () => {
    publish("2.0.0");
    publish("v2.0.1", { draft: true });
    expect(await sync("2.0.0")).toMatchObject({ version: "2.0.0" });
    await expect(sync("2.0.1")).rejects.toMatchObject({ code: "agent_version_not_found" });
    await expect(sync("7.7.7")).rejects.toMatchObject({ code: "agent_version_not_found" });
  });

  it.each<[Failure, string]>([
    ["truncated", "truncated after 5 bytes"],
    ["gone", "answered 404"],
    ["reset", "The connection ended before an answer came (UND_ERR_SOCKET)"],
    ["other bytes", "wrong digest"],
    ["other digest", "wrong digest"],
    ["redirect to a private address", "its address is not allowed"],
    ["redirect loop", "more than 3 redirects"],
  ])("with a file that is served with %s registers nothing and reports the file", async (failure, reason) => {
    publish("v3.0.0", { files: { ...releaseFiles("3.0.0", signer), ...releaseFiles("3.0.0", signer, "watchdog") } });
    host.failures.set(binary, failure);
    await expect(sync()).rejects.toMatchObject({
      code: "release_sync_failed",
      facts: { failed: [{ asset: binary, reason: expect.stringContaining(reason) }] },
    });
    expect(await rows("3.0.0")).toEqual([]);
  });

  it("with a file that is missing registers nothing", async () => {
    const { [binary]: _, ...files } = releaseFiles("3.1.0", signer);
    publish("v3.1.0", { files });
    await expect(sync()).rejects.toMatchObject({ facts: { failed: [{ asset: binary, reason: "missing" }] } });
    expect(await rows("3.1.0")).toEqual([]);
  });

  it.each([
    [429, { "retry-after": "7" }, 7],
    [403, { "x-ratelimit-reset": String(Math.ceil(Date.now() / 1_000) + 100_000) }, 3_600],
    [403, { "x-ratelimit-remaining": "0" }, 60],
  ])(
    "is refused with a Retry-After when the host limits requests: %d %j",
    async (status, headers, retryAfterSeconds) => {
      publish("v3.2.0");
      host.answer(status, headers);
      await expect(sync()).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds });
    },
  );

  it("is refused with a Retry-After when a file's host limits requests, too", async () => {
    publish("v3.3.0");
    host.failures.set(binary, "busy");
    await expect(sync()).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 9 });
    expect(await rows("3.3.0")).toEqual([]);
  });

  it.each([
    [500, {}],
    [403, {}],
    [403, { "x-ratelimit-remaining": "4999", "x-ratelimit-reset": "1900000000" }],
    [401, {}],
  ])("fails with the host's words when it answers %d with the headers %j", async (status, headers) => {
    host.answer(status, headers);
    await expect(sync()).rejects.toMatchObject({
      code: "release_sync_failed",
      facts: { failed: [{ asset: "", reason: `answered ${status}: no` }] },
    });
  });

  it("reads all pages, and takes the newest by version from whichever page it is on", async () => {
    publish("v3.5.9");
    for (let patch = 0; patch < 120; patch++) publish(`v3.4.${patch}`);
    publish("v3.5.10");
    expect(await sync()).toMatchObject({ version: "3.5.10" });
    expect(await sync("3.4.119")).toMatchObject({ version: "3.4.119" });
  });

  it("finds a tag with build metadata by its version", async () => {
    publish("v3.6.0+build.7", { files: releaseFiles("3.6.0", signer) });
    expect(await sync("3.6.0")).toMatchObject({ version: "3.6.0" });
    expect(await sync()).toMatchObject({ version: "3.6.0" });
  });

  it("registers a pre-release by name, and does not promote it", async () => {
    publish("v3.7.0", { prerelease: true });
    expect(await sync("3.7.0")).toMatchObject({ version: "3.7.0" });
    const [row] = await service.read<{ version: string }>(
      sql`SELECT r.version FROM promotion p JOIN release r ON r.id = p.release_id WHERE p.component = 'agent'`,
    );
    expect(row?.version).toBe("3.6.0");
  });

  it("reports the files that it does not register, and why", async () => {
    const files = releaseFiles("3.8.0", signer);
    const [manifest] = String(files["agent.manifest"]).split("\n");
    const { artifacts, ...rest } = JSON.parse(manifest ?? "");
    const armv7 = { ...artifacts[0], arch: "armv7", name: "muster-agent-linux-armv7" };
    const note = signNote(`${JSON.stringify({ ...rest, artifacts: [...artifacts, armv7] })}\n`, signer);
    const others = ["muster-agent-linux-armv7", "muster-agent-freebsd-amd64", "README.md", "checksums.txt"];
    const more = Object.fromEntries(others.map((name) => [name, Buffer.from(name)]));
    publish("v3.8.0", { files: { ...files, ...more, "agent.manifest": Buffer.from(note) } });
    expect(await sync()).toEqual({
      version: "3.8.0",
      synced: ["agent:linux/amd64"],
      skipped: [
        { asset: "muster-agent-linux-armv7", reason: "there are no agents for linux/armv7" },
        { asset: "muster-agent-freebsd-amd64", reason: "there are no agents for freebsd/amd64" },
        { asset: "README.md", reason: expect.stringContaining("its name is not …-<agent|watchdog|helper>-<") },
      ],
    });
  });

  it("runs once, and is answered three times, when it is requested three times concurrently", async () => {
    publish("v4.0.0");
    const wanted = { version: "4.0.0", synced: ["agent:linux/amd64"], skipped: [] };
    let requested = 0;
    // Work begins when all three requests have arrived: a request after its end starts another.
    const wake = () => {
      requested += 1;
      if (requested === 3) void syncOnce(deps);
    };
    expect(await Promise.all([sync(null, wake), sync(null, wake), sync(null, wake)])).toEqual([wanted, wanted, wanted]);
    expect(host.requests.filter(({ path }) => path.endsWith(`/files/v4.0.0/${binary}`))).toHaveLength(1);
    const count = sql`SELECT count(*)::int AS n FROM outbox WHERE subject LIKE 'audit.%'`;
    const [before] = await service.deps.db.read<{ n: number }>(asItself(), count);
    expect(await sync()).toEqual(wanted);
    const [after] = await service.deps.db.read<{ n: number }>(asItself(), count);
    expect(after).toEqual(before);
  });

  it("registers both of two concurrent versions, and promotes the newer", async () => {
    publish("v4.1.0");
    publish("v4.2.0");
    await Promise.all([sync("4.2.0"), sync("4.1.0")]);
    const [row] = await service.deps.db.read<{ version: string }>(
      asItself(),
      sql`SELECT r.version FROM promotion p JOIN release r ON r.id = p.release_id WHERE p.component = 'agent'`,
    );
    expect(row?.version).toBe("4.2.0");
  });

  it("is refused when the files of its version have changed since", async () => {
    publish("v4.3.0");
    await sync();
    host.releases.splice(0);
    const other = releaseFiles("4.3.0", signer, "agent");
    const bytes = Buffer.from("other");
    const artifacts = [{ os: "darwin", arch: "arm64", name: "agent", size: 5, sha256: sha256Of(bytes) }];
    const note = signNote(`${JSON.stringify({ version: "4.3.0", component: "agent", artifacts })}\n`, signer);
    publish("v4.3.0", { files: { ...other, agent: bytes, "agent.manifest": Buffer.from(note) } });
    await expect(sync()).rejects.toMatchObject({ code: "release_exists" });
  });
});

describe("stored files", () => {
  /** Releases with their own folder; `before` runs before each check whether a file exists. */
  async function keeping(before: (storage: Storage) => Promise<void>) {
    const folder = await mkdtemp(join(tmpdir(), "muster-store-"));
    const storage = directoryStorage(folder);
    const watched: Storage = {
      ...storage,
      async has(sha256) {
        await before(storage);
        return storage.has(sha256);
      },
    };
    const own = { ...deps, storage: watched, storeAll: true };
    return {
      storage,
      remove: (sha256: string) => removeUnused(own, [sha256]),
      sync: () => syncReleases(own, context(), { source: "github", version: null }, () => void syncOnce(own)),
      end: () => rm(folder, { recursive: true, force: true }),
    };
  }
  const digestOf = (files: Record<string, Buffer>) => sha256Of(files[binary] as Buffer);

  it("are stored again when the last other release of the same bytes is deleted before this one is registered", async () => {
    const files = releaseFiles("4.5.0", signer);
    publish("v4.5.0", { files });
    const removed: boolean[] = [];
    const store = await keeping(async (storage) => {
      if (removed.length > 0) return;
      // Removes the file, as a removal does that had the lock before the registration.
      await storage.remove(digestOf(files));
      removed.push(await storage.has(digestOf(files)));
    });
    expect(await store.sync()).toMatchObject({ version: "4.5.0", synced: ["agent:linux/amd64"] });
    expect([removed, await store.storage.has(digestOf(files))]).toEqual([[false], true]);
    expect(host.requests.filter(({ path }) => path.endsWith(`/files/v4.5.0/${binary}`))).toHaveLength(2);
    await store.end();
  });

  it("are not removed while a release that names them is being registered, or afterwards", async () => {
    const files = releaseFiles("4.6.0", signer);
    publish("v4.6.0", { files });
    let removing: Promise<void> | undefined;
    const store = await keeping(async () => {
      removing ??= store.remove(digestOf(files));
      await until("the removal to wait for its turn", async () => {
        const waiting = sql`SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 5002 AND NOT granted`;
        return (await service.deps.db.read(asItself(), waiting)).length > 0;
      });
    });
    await store.sync();
    await removing;
    expect(await store.storage.has(digestOf(files))).toBe(true);
    await store.end();
  });

  it("are removed at once when another file of the release is invalid", async () => {
    const files = { ...releaseFiles("4.7.0", signer), ...releaseFiles("4.7.0", signer, "watchdog") };
    publish("v4.7.0", { files });
    host.failures.set("muster-watchdog-linux-amd64", "other bytes");
    const store = await keeping(async () => undefined);
    await expect(store.sync()).rejects.toMatchObject({ code: "release_sync_failed" });
    expect(await store.storage.has(digestOf(files))).toBe(false);
    await store.end();
  });
});

describe("without keys of manifests", () => {
  it("a sync registers nothing, with manifests and without, unless releases may be unsigned", async () => {
    const files = releaseFiles("4.8.0", signer);
    const { "agent.manifest": _, ...unsigned } = files;
    const sums = Object.entries(unsigned).map(
      ([name, bytes]) => `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`,
    );
    publish("v4.8.0", { files });
    publish("v4.9.0", { files: { ...unsigned, "checksums.txt": Buffer.from(sums.join("")) } });
    const without = (mayBe: boolean) => ({ ...deps, keys: [], unsigned: mayBe });
    for (const version of ["4.8.0", "4.9.0"]) {
      await expect(sync(version, () => void syncOnce(without(false)))).rejects.toMatchObject({
        code: "release_untrusted",
        facts: { failed: [{ reason: "cannot be verified: RELEASE_MANIFEST_KEYS is empty" }] },
      });
      expect(await rows(version)).toEqual([]);
      expect(await sync(version, () => void syncOnce(without(true)))).toMatchObject({ version });
      expect(await rows(version)).toMatchObject([{ signed: false }]);
    }
  });
});

describe("a release without manifests, where releases may be unsigned", () => {
  const unsigned = () => void syncOnce({ ...deps, keys: [], unsigned: true });
  const bytes = Buffer.from("agent");
  const digest = sha256Of(bytes);
  let last = 0;
  const publishWith = (sums: Record<string, string>, ...names: string[]) => {
    const version = `4.10.${++last}`;
    const texts = Object.entries(sums).map(([name, text]) => [name, Buffer.from(text)]);
    publish(`v${version}`, { files: { ...Object.fromEntries([...texts, ...names.map((name) => [name, bytes])]) } });
    return version;
  };

  it.each([
    ["checksums.txt", `${digest}  ./${binary}\n`],
    ["checksums.txt", `${digest} *dist/${binary}\r\n`],
    ["checksums.txt", `SHA256 (${binary}) = ${digest.toUpperCase()}\n`],
    ["SHA256SUMS", `${digest}  ${binary}\n`],
    ["sha256sums.txt", `${digest}  ${binary}\n`],
    ["muster_4.10.0_checksums.txt", `${digest}  ${binary}\n`],
  ])("is registered by %s with %j", async (name, text) => {
    const version = publishWith({ [name]: text }, binary);
    expect(await sync(version, unsigned)).toEqual({ version, synced: ["agent:linux/amd64"], skipped: [] });
  });

  it.each<[string, Record<string, string>, object[]]>([
    [
      "without checksums",
      {},
      [
        {
          asset: "checksums.txt",
          reason: expect.stringMatching(/^missing: expected agent.manifest, or checksums.txt, SHA256SUMS/),
        },
      ],
    ],
    [
      "with checksums of other files",
      { SHA256SUMS: `${digest}  README.md\n` },
      [{ asset: "SHA256SUMS", reason: expect.stringMatching(/^names no binary: expected …-<agent/) }],
    ],
    [
      "with two files for one platform",
      { SHA256SUMS: `${digest}  a-agent-linux-amd64\n${digest}  b-agent-linux-amd64\n` },
      [
        { asset: "a-agent-linux-amd64", reason: "one of two files for linux/amd64" },
        { asset: "b-agent-linux-amd64", reason: "one of two files for linux/amd64" },
      ],
    ],
  ])("is not registered %s, and the error says what was expected", async (_, sums, failed) => {
    const version = publishWith(sums, "a-agent-linux-amd64", "b-agent-linux-amd64");
    await expect(sync(version, unsigned)).rejects.toMatchObject({ code: "release_sync_failed", facts: { failed } });
  });
});

describe("keys of manifests", () => {
  it("are exchanged by a root note of old and new, which offers contain from then on", async () => {
    const next = noteKeys(generateNoteKey("next")).signer;
    const line = `${JSON.stringify({ root: 2, keys: [next.text] })}\n`;
    const signed = (...by: (typeof next)[]) =>
      Buffer.from(`${line}\n${by.map((key) => signNote(line, key).split("\n\n")[1]).join("")}`);
    publish("v5.0.0", { files: { ...releaseFiles("5.0.0", next), "root.note": signed(next) } });
    // The new key alone is not enough: the note and the manifests it signed are not trusted.
    await expect(sync()).rejects.toMatchObject({
      code: "release_untrusted",
      facts: { failed: [{ asset: "root.note" }] },
    });
    host.releases.splice(0);
    const note = signed(signer, next);
    publish("v5.0.0", { files: { ...releaseFiles("5.0.0", next), "root.note": note } });
    expect(await sync()).toMatchObject({ version: "5.0.0" });
    publish("v5.1.0");
    await expect(sync("5.1.0")).rejects.toMatchObject({ code: "release_untrusted" });
    publish("v5.2.0", { files: { ...releaseFiles("5.2.0", next), "root.note": note } });
    expect(await sync()).toMatchObject({ version: "5.2.0" });
    const { answers } = await service.decide(service.question());
    expect(answers[0]?.offers).toMatchObject([{ version: "5.2.0", rootNotes: [note.toString()] }]);
  });
});
