import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openDatabase, sql } from "@muster/db";
import { AppError, type Caller, createLogger, gauge, secretBox, systemCaller, uuidv7 } from "@muster/kit";
import { StreamService } from "@muster/proto/muster/audit/v1/stream_pb";
import { register, toAppError } from "@muster/rpc";
import { reencrypt } from "@muster/service";
import { callers, type TestDatabase, type TestPort, testPort, until } from "@muster/testing";
import { directoryArchive } from "../clients/archive/directory.ts";
import { roles } from "../clients/role-credentials.ts";
import type { Push, Pushed, SyslogPush } from "../clients/webhook-pushes.ts";
import { sealMessages } from "../events/sealer.ts";
import { streamService } from "../rpc/stream.ts";
import { sealedAt, sealedColumns, secretPurposes } from "../store/sealed-columns.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { measureStreams } from "./stream-gauges.ts";
import { advanceStream, type StreamerDeps, startStreamer } from "./streamer.ts";

const keys = `k1:${Buffer.alloc(32, 7).toString("base64")}`;
const log = createLogger("streamer-test", "fatal");
const system = { caller: systemCaller("audit") };
const box = secretBox(keys, secretPurposes.streams);
const url = "https://user:hidden@siem.example.test/in?token=hidden";

let database: TestDatabase;
let port: TestPort;
let folder: string;
/** The requests that the receiver got, by URL, and its scripted replies. */
const got: Push[] = [];
let answer: (push: Push) => Promise<Omit<Pushed, "body"> & { body?: Buffer }> = async () => ({
  status: 200,
  error: null,
});
const puts: Push[] = [];
/** Requests for credentials of roles. */
const assumed: Push[] = [];
/** Requests to HTTPS sinks. */
const posts: Push[] = [];
const frames: SyslogPush[] = [];
let answerSyslog: () => Promise<Omit<Pushed, "body">> = async () => ({ status: null, error: null });
let deps: StreamerDeps;

beforeAll(async () => {
  database = await auditDatabase();
  folder = await mkdtemp(join(tmpdir(), "streams-"));
  const pushes = {
    async check(url: string) {
      if (!/^(https|tls):/.test(url)) {
        throw new AppError("invalid_webhook_url", "Invalid webhook URL", { facts: { reason: "not_https" } });
      }
      return "https://siem.example.test/in";
    },
    async pushSyslog(push: SyslogPush) {
      frames.push(push);
      return { body: Buffer.alloc(0), ...(await answerSyslog()) };
    },
    async push(push: Push) {
      if (push.method === "PUT") puts.push(push);
      else if (push.sinkType === "s3") assumed.push(push);
      else if (push.sinkType === "https") posts.push(push);
      else got.push(push);
      return { body: Buffer.alloc(0), ...(await answer(push)) };
    },
  };
  const now = () => new Date();
  deps = {
    db: database.db,
    log,
    now,
    box,
    pushes,
    archive: await directoryArchive(folder, ""),
    roles: roles({ own: async () => ({ accessKeyId: "AKIAOWN", secretAccessKey: "own" }), now }),
    deployment: "muster.local",
    concurrency: 2,
    failedAfterHours: 72,
    pollMs: 10,
  };
  const replyBox = secretBox(keys, secretPurposes.replies);
  const { archive, roles: byRole } = deps;
  const rpc = { ...readerOf(database), now, box, replyBox, pushes, archive, roles: byRole, deployment: "muster.local" };
  port = await testPort("audit", [
    register(StreamService, streamService({ ...rpc, mfaMaxAgeMinutes: 480, streamsPerOrganization: 2 })),
  ]);
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
  if (folder) await rm(folder, { recursive: true });
});

const client = (caller: Caller) => port.client(StreamService, caller);
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => toAppError(error).code,
  );

async function seal(partnerId: string, orgId: string, count: number, details = "{}") {
  const sealer = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 10_000_000 };
  const change = { partnerId, orgId, detailsJson: details };
  await sealMessages(
    sealer,
    Array.from({ length: count }, () => auditMessage(change)),
  );
}

async function organization(rows = 3, partnerId = uuidv7()) {
  const orgId = uuidv7();
  await seal(partnerId, orgId, rows);
  const permitted = { mfaAt: new Date(), permissions: ["audit:read", "audit:write"] };
  return {
    partnerId,
    orgId,
    admin: { ...callers.orgAdmin(partnerId, orgId), ...permitted } as Caller,
    partner: { ...callers.partnerAdmin(partnerId), ...permitted } as Caller,
  };
}

const toWebhook = { name: "SIEM", type: "webhook", url, fromStart: true };
type Batch = {
  type: string;
  data: { previousSeq: number; firstSeq: number; lastSeq: number; rows: { seq: number }[] };
};
const batchesOf = (streamId: string) =>
  got
    .map((push) => ({ push, body: JSON.parse(push.body.toString()) as Batch & { data: { streamId: string } } }))
    .filter(({ body }) => body.data.streamId === streamId);
const seqsOf = (streamId: string) => batchesOf(streamId).flatMap(({ body }) => body.data.rows.map(({ seq }) => seq));
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const stateOf = async (admin: Caller, id: string) => (await client(admin).getStream({ id })).stream;
const due = (id: string) =>
  database.db.tx(system, (tx) =>
    tx.execute(
      sql`UPDATE audit_streams SET next_attempt_at = now(), leased_until = CASE WHEN leased_until IS NOT NULL THEN now() END WHERE id = ${id}`,
    ),
  );

const seqsIn = ({ frames: sent }: SyslogPush) =>
  [...sent.toString().matchAll(/ seq="(\d+)"/g)].map(([, seq]) => Number(seq));

describe("a stream to a syslog receiver", () => {
  const toSyslog = { name: "Syslog", type: "syslog", url: "tls://siem.example.test:6514", fromStart: true };

  it("sends again what it sent within a minute before a connection broke, and nothing older", async () => {
    const { admin, orgId, partnerId } = await organization(3);
    const id = (await client(admin).createStream(toSyslog)).stream?.id ?? "";
    const from = frames.length;
    const sent = () => frames.slice(from).map(seqsIn);
    while (await advanceStream(deps));
    await seal(partnerId, orgId, 2);
    answerSyslog = async () => ({ status: null, error: "The connection broke before everything was read" });
    while (await advanceStream(deps));
    expect(await stateOf(admin, id)).toMatchObject({
      cursorSeq: 0n,
      failures: 1,
      lastError: expect.stringContaining("broke"),
    });
    answerSyslog = async () => ({ status: null, error: null });
    await due(id);
    while (await advanceStream(deps));
    expect(sent()).toEqual([
      [1, 2, 3],
      [4, 5],
      [1, 2, 3, 4, 5],
    ]);
    await seal(partnerId, orgId, 1);
    answerSyslog = async () => ({ status: null, error: "refused" });
    const later = { ...deps, now: () => new Date(Date.now() + 61_000) };
    while (await advanceStream(later));
    expect(await stateOf(admin, id)).toMatchObject({ cursorSeq: 5n });
    answerSyslog = async () => ({ status: null, error: null });
    await client(admin).deleteStream({ id });
  });
});

describe("a stream to a customer's bucket", () => {
  const bucket = { bucket: "acme", region: "eu-central-1", accessKeyId: "AKIAEXAMPLE", secretAccessKey: "hidden-key" };

  it("puts gzipped lines under names by hour, signed, and never shows its secret", async () => {
    const { admin } = await organization(3);
    const created = await client(admin).createStream({ name: "Bucket", type: "s3", fromStart: true, bucket });
    const id = created.stream?.id ?? "";
    expect(created.stream?.bucket).toMatchObject({ bucket: "acme", secretAccessKey: "" });
    const from = puts.length;
    answer = async () => ({ status: 503, error: "The receiver answered 503" });
    while (await advanceStream(deps));
    answer = async () => ({ status: 200, error: null });
    await due(id);
    while (await advanceStream(deps));
    const [first, second] = puts.slice(from);
    expect(first?.url).toMatch(
      /^https:\/\/acme\.s3\.eu-central-1\.amazonaws\.com\/\d{4}\/\d\d\/\d\d\/\d\d\/0{15}1-0{15}3\.ndjson\.gz/,
    );
    expect(first?.url).toBe(second?.url);
    expect(first?.headers.find(({ key }) => key === "authorization")?.value).toMatch(/^AWS4-HMAC-SHA256 /);
    expect(
      gunzipSync(first?.body ?? Buffer.alloc(0))
        .toString()
        .trimEnd()
        .split("\n"),
    ).toHaveLength(3);
    expect(await stateOf(admin, id)).toMatchObject({ cursorSeq: 3n, rowsSent: 3n });
    await client(admin).deleteStream({ id });
  });
});

describe("a stream to a bucket by a role", () => {
  const roleArn = "arn:aws:iam::123456789012:role/muster";
  const bucket = { bucket: "acme", region: "eu-central-1", roleArn };
  const credentials = (minutes: number) =>
    `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey>
     <SessionToken>token==</SessionToken><Expiration>${new Date(Date.now() + minutes * 60_000).toISOString()}</Expiration>
     </Credentials></AssumeRoleResult></AssumeRoleResponse>`;
  const bySts = (reply: Omit<Pushed, "body"> & { body?: Buffer }) => async (push: Push) =>
    push.method === "PUT" ? { status: 200, error: null } : reply;

  it("assumes it with the organization as external id, once while its credentials last", async () => {
    const { admin, orgId, partnerId } = await organization(3);
    const created = await client(admin).createStream({ name: "Role", type: "s3", fromStart: true, bucket });
    const id = created.stream?.id ?? "";
    expect(created.stream?.bucket).toMatchObject({ accessKeyId: "", roleArn });
    const [from, before] = [puts.length, assumed.length];
    answer = bySts({ status: 200, error: null, body: Buffer.from(credentials(60)) });
    while (await advanceStream(deps));
    await seal(partnerId, orgId, 2);
    while (await advanceStream(deps));
    expect(await stateOf(admin, id)).toMatchObject({ cursorSeq: 5n, failures: 0 });
    expect(assumed.slice(before)).toHaveLength(1);
    const [request] = assumed.slice(before);
    expect([request?.url, request?.ca]).toEqual(["https://sts.eu-central-1.amazonaws.com/", ""]);
    const requested = new URLSearchParams(request?.body.toString());
    expect([requested.get("Action"), requested.get("RoleArn"), requested.get("ExternalId")]).toEqual([
      "AssumeRole",
      roleArn,
      orgId,
    ]);
    for (const { headers } of puts.slice(from)) {
      const named = Object.fromEntries(headers.map(({ key, value }) => [key, value]));
      expect(named.authorization).toContain("Credential=ASIAROLE/");
      expect(named["x-amz-security-token"]).toBe("token==");
    }
    answer = async () => ({ status: 200, error: null });
    await client(admin).deleteStream({ id });
  });

  it.each<[string, Omit<Pushed, "body"> & { body?: Buffer }, RegExp]>([
    [
      "a refusal",
      { status: 403, error: "The receiver answered 403", body: Buffer.from("<Code>AccessDenied</Code>") },
      /403.*AccessDenied/,
    ],
    ["no credentials", { status: 200, error: null, body: Buffer.from("<html>") }, /no credentials/],
  ])("fails with %s, says so, and puts nothing", async (_, reply, text) => {
    const { admin } = await organization(3);
    const id =
      (await client(admin).createStream({ name: "Role", type: "s3", fromStart: true, bucket })).stream?.id ?? "";
    const from = puts.length;
    answer = bySts(reply);
    while (await advanceStream(deps));
    expect(await stateOf(admin, id)).toMatchObject({
      cursorSeq: 0n,
      failures: 1,
      lastError: expect.stringMatching(text),
    });
    expect(puts).toHaveLength(from);
    answer = async () => ({ status: 200, error: null });
    await client(admin).deleteStream({ id });
  });
});

const s3 = { bucket: "acme", region: "eu-central-1", accessKeyId: "AKIAEXAMPLE", secretAccessKey: "hidden-key" };
const full = "<Error><Code>InsufficientStorage</Code>\n<Message>Disk is full</Message></Error>";
const partial = (statuses: number[]) =>
  JSON.stringify({
    errors: true,
    items: statuses.map((status) => ({ create: { status, error: { type: "cluster_block_exception" } } })),
  });

describe("a stream to a sink", () => {
  it.each<[string, object, { status: number | null; error: string | null; text: string }, string]>([
    [
      "does not answer",
      { type: "https", envelope: "array" },
      { status: null, error: "Timed out after 30 s", text: "" },
      "Timed out after 30 s",
    ],
    [
      "is full",
      { type: "https", envelope: "ndjson" },
      { status: 507, error: "The receiver answered 507", text: "no space\n\tleft\u0000" },
      "The receiver answered 507: no space left",
    ],
    [
      "refuses the size",
      { type: "https", envelope: "array" },
      { status: 413, error: "The receiver answered 413", text: "" },
      "The receiver answered 413",
    ],
    [
      "is busy",
      { type: "https", envelope: "splunk-hec" },
      { status: 503, error: "The receiver answered 503", text: '{"text":"Server is busy","code":9}' },
      'The receiver answered 503: {"text":"Server is busy","code":9}',
    ],
    [
      "took half of a batch",
      { type: "https", envelope: "elastic-bulk" },
      { status: 200, error: null, text: partial([201, 429, 429]) },
      "2 of 3 documents were refused, the first with 429 cluster_block_exception",
    ],
    [
      "has a full bucket",
      { type: "s3", url: "", bucket: s3 },
      { status: 507, error: "The receiver answered 507", text: full },
      "The receiver answered 507: <Error><Code>InsufficientStorage</Code> <Message>Disk is full</Message></Error>",
    ],
  ])(
    "is failing with the answer of a sink that %s, and sends every row in the end",
    async (_, sink, refused, shown) => {
      const { admin } = await organization(3);
      const { stream } = await client(admin).createStream({ ...toWebhook, ...sink });
      const id = stream?.id ?? "";
      const { text, ...outcome } = refused;
      answer = async () => ({ ...outcome, body: Buffer.from(text) });
      const from = { posts: posts.length, puts: puts.length };
      while (await advanceStream(deps));
      expect(await stateOf(admin, id)).toMatchObject({
        cursorSeq: 0n,
        failures: 1,
        status: "active",
        lastError: shown,
      });
      expect((await stateOf(admin, id))?.health).toMatchObject({
        status: "failing",
        reason: expect.stringContaining(shown),
      });
      answer = async () => ({ status: 200, error: null, body: Buffer.from('{"errors":false,"items":[]}') });
      await due(id);
      while (await advanceStream(deps));
      expect(await stateOf(admin, id)).toMatchObject({ cursorSeq: 3n, rowsSent: 3n, failures: 0 });
      const sent = [...posts.slice(from.posts), ...puts.slice(from.puts)];
      expect(sent.map((push) => push.id)).toEqual([sent[0]?.id, sent[0]?.id]);
      await client(admin).deleteStream({ id });
    },
  );

  it("on a full disk of the operator is failing with the disk's code, and names no path", async () => {
    const { admin } = await organization(2);
    const { stream } = await client(admin).createStream({ name: "Lake", type: "archive", fromStart: true });
    const id = stream?.id ?? "";
    const put = () => Promise.reject(Object.assign(new Error("ENOSPC: /secret/path"), { code: "ENOSPC" }));
    while (await advanceStream({ ...deps, archive: { put } }));
    expect(await stateOf(admin, id)).toMatchObject({
      cursorSeq: 0n,
      lastError: "The storage did not take it (ENOSPC)",
    });
    await due(id);
    while (await advanceStream(deps));
    expect(await stateOf(admin, id)).toMatchObject({ cursorSeq: 2n, failures: 0 });
    await client(admin).deleteStream({ id });
  });
});

describe("a stream", () => {
  it("sends the rows of its chain in order, later ones included, and reports its position", async () => {
    const { admin, orgId, partnerId } = await organization(250);
    const { stream, secret } = await client(admin).createStream(toWebhook);
    const id = stream?.id ?? "";
    expect(stream).toMatchObject({ orgId, cursorSeq: 0n, headSeq: 250n, url: "https://siem.example.test/in" });
    expect(secret).toMatch(/^whsec_/);
    const streamer = startStreamer(deps);
    await until("all rows", () => seqsOf(id).length === 250);
    await seal(partnerId, orgId, 5);
    await until("the later rows", async () => (await stateOf(admin, id))?.cursorSeq === 255n);
    await streamer.stop();
    expect(seqsOf(id)).toEqual(range(1, 255));
    expect(batchesOf(id)[0]?.body).toMatchObject({
      type: "audit.rows",
      orgId,
      data: { previousSeq: 0, firstSeq: 1, lastSeq: 100 },
    });
    expect(batchesOf(id)[0]?.push).toMatchObject({ url, secret, attempt: 1, possibleDuplicate: false });
    expect(await stateOf(admin, id)).toMatchObject({ rowsSent: 255n, failures: 0, lagSeconds: 0, status: "active" });
  }, 30_000);

  it("starts after the last row unless it is set to start at the first", async () => {
    const { admin, orgId, partnerId } = await organization(4);
    const { stream } = await client(admin).createStream({ ...toWebhook, fromStart: false });
    expect(stream).toMatchObject({ cursorSeq: 4n, headSeq: 4n });
    await seal(partnerId, orgId, 1);
    expect((await stateOf(admin, stream?.id ?? ""))?.lagSeconds).toBeGreaterThanOrEqual(0);
    while (await advanceStream(deps));
    expect(seqsOf(stream?.id ?? "")).toEqual([5]);
  });

  it("is counted by its health", async () => {
    const { admin } = await organization(1);
    const { stream } = await client(admin).createStream({ ...toWebhook, fromStart: false });
    const id = stream?.id ?? "";
    const counts = async (failures: number): Promise<Record<string, number>> => {
      await database.db.tx(system, (tx) =>
        tx.execute(sql`UPDATE audit_streams SET failures = ${failures} WHERE id = ${id}`),
      );
      await measureStreams(database.db);
      const { values } = await gauge("muster_audit_streams", "", ["health"]).get();
      return Object.fromEntries(values.map(({ labels, value }) => [labels.health, value]));
    };
    const { healthy = 0, slow = 0, failing = 0, unreachable = 0 } = await counts(0);
    const others = { healthy: healthy - 1, slow };
    expect(await counts(1)).toEqual({ ...others, failing: failing + 1, unreachable });
    expect(await counts(8)).toEqual({ ...others, failing, unreachable: unreachable + 1 });
    await client(admin).deleteStream({ id });
  });

  it("waits when a batch is refused, sends the same batch again, and loses nothing", async () => {
    const { admin, orgId, partnerId } = await organization(2);
    const { stream } = await client(admin).createStream(toWebhook);
    const id = stream?.id ?? "";
    answer = async () => ({ status: 503, error: "The receiver answered 503" });
    while (await advanceStream(deps));
    await seal(partnerId, orgId, 2);
    expect(await advanceStream(deps)).toBe(false);
    expect(await stateOf(admin, id)).toMatchObject({
      cursorSeq: 0n,
      failures: 1,
      lastError: "The receiver answered 503",
    });
    answer = async () => ({ status: null, error: "The receiver did not answer in time" });
    await due(id);
    while (await advanceStream(deps));
    answer = async () => ({ status: 204, error: null });
    await due(id);
    while (await advanceStream(deps));
    expect(batchesOf(id).map(({ body, push }) => [body.data.lastSeq, push.attempt, push.possibleDuplicate])).toEqual([
      [2, 1, false],
      [2, 2, false],
      [2, 3, true],
      [4, 1, false],
    ]);
    expect(new Set(batchesOf(id).map(({ push }) => push.id)).size).toBe(2);
  });

  it("continues after its process was killed while sending, and marks the batch as a possible repeat", async () => {
    const { admin } = await organization(3);
    const { stream } = await client(admin).createStream(toWebhook);
    const id = stream?.id ?? "";
    // Sent, with no outcome stored: the state after kill −9.
    answer = () => new Promise(() => undefined);
    void advanceStream(deps);
    await until("the first request", () => batchesOf(id).length === 1);
    answer = async () => ({ status: 200, error: null });
    expect(await advanceStream(deps)).toBe(false);
    await due(id);
    while (await advanceStream(deps));
    expect(batchesOf(id).map(({ push }) => [push.id, push.possibleDuplicate])).toEqual([
      [batchesOf(id)[0]?.push.id, false],
      [batchesOf(id)[0]?.push.id, true],
    ]);
    expect(await stateOf(admin, id)).toMatchObject({ cursorSeq: 3n, rowsSent: 3n });
  });

  it("is marked failed by 410 and after days without a success, and continues when it is resumed", async () => {
    const { admin } = await organization(3);
    const { stream } = await client(admin).createStream(toWebhook);
    const id = stream?.id ?? "";
    answer = async () => ({ status: 410, error: "The receiver answered 410" });
    while (await advanceStream(deps));
    expect(await stateOf(admin, id)).toMatchObject({ status: "failed", cursorSeq: 0n });
    expect((await client(admin).updateStream({ id, status: "active" })).stream?.status).toBe("active");
    answer = async () => ({ status: 500, error: "The receiver answered 500" });
    while (await advanceStream(deps));
    await database.db.tx(system, (tx) =>
      tx.execute(sql`UPDATE audit_streams SET failing_since = now() - interval '73 hours' WHERE id = ${id}`),
    );
    await due(id);
    while (await advanceStream(deps));
    expect(await stateOf(admin, id)).toMatchObject({ status: "failed", failures: 2 });
    answer = async () => ({ status: 200, error: null });
    await client(admin).updateStream({ id, status: "active" });
    while (await advanceStream(deps));
    expect(await stateOf(admin, id)).toMatchObject({ status: "active", cursorSeq: 3n, failures: 0 });
    const actions = await database.db.read<{ n: number }>(
      system,
      sql`SELECT count(*)::int AS n FROM outbox WHERE encode(body, 'escape') LIKE ${`%audit.stream.fail%${id}%`}`,
    );
    expect(actions[0]?.n).toBe(2);
  });

  it("uses one slot while it hangs, whatever its organization's other streams do, and none of another organization", async () => {
    const bad = await organization(1);
    const good = await organization(150);
    const hanging = [];
    for (let n = 0; n < 2; n++) hanging.push((await client(bad.admin).createStream(toWebhook)).stream?.id ?? "");
    const { stream } = await client(good.admin).createStream(toWebhook);
    const held: (() => void)[] = [];
    answer = (push) => {
      const { orgId } = JSON.parse(push.body.toString()) as { orgId: string };
      if (orgId !== bad.orgId) return Promise.resolve({ status: 200, error: null });
      return new Promise((resolve) => held.push(() => resolve({ status: 200, error: null })));
    };
    const streamer = startStreamer(deps);
    await until("the other's rows", async () => (await stateOf(good.admin, stream?.id ?? ""))?.cursorSeq === 150n);
    expect(held).toHaveLength(1);
    answer = async () => ({ status: 200, error: null });
    for (const release of held) release();
    for (const id of hanging) {
      await until("theirs", async () => (await stateOf(bad.admin, id))?.cursorSeq === 1n);
    }
    await streamer.stop();
  }, 30_000);

  it("uses half of the slots with the others of its partner, however many organizations that has", async () => {
    const partnerId = uuidv7();
    const bad = await Promise.all(Array.from({ length: 5 }, () => organization(1, partnerId)));
    for (const { admin } of bad) await client(admin).createStream(toWebhook);
    const held: (() => void)[] = [];
    answer = (push) => {
      const { orgId } = JSON.parse(push.body.toString()) as { orgId: string };
      if (bad.every((each) => each.orgId !== orgId)) return Promise.resolve({ status: 200, error: null });
      return new Promise((resolve) => held.push(() => resolve({ status: 200, error: null })));
    };
    const streamer = startStreamer({ ...deps, concurrency: 4 });
    await until("half of four", () => held.length >= 2);
    const good = await organization(150);
    const { stream } = await client(good.admin).createStream(toWebhook);
    await until("another's rows", async () => (await stateOf(good.admin, stream?.id ?? ""))?.cursorSeq === 150n);
    expect(held).toHaveLength(2);
    answer = async () => ({ status: 200, error: null });
    for (const release of held) release();
    await until("theirs", async () => {
      const states = await Promise.all(bad.map(({ admin }) => client(admin).listStreams({})));
      return states.every(({ streams }) => streams[0]?.cursorSeq === 1n);
    });
    await streamer.stop();
  }, 30_000);

  it("has not failed, and is due soon, when the dispatcher had no slot for its batch", async () => {
    const { admin } = await organization(3);
    const { stream } = await client(admin).createStream(toWebhook);
    const id = stream?.id ?? "";
    answer = () => Promise.reject(new AppError("overloaded", "Too many pushes are in flight"));
    await advanceStream(deps);
    expect(await advanceStream(deps)).toBe(false);
    expect(await stateOf(admin, id)).toMatchObject({ cursorSeq: 0n, failures: 0, lastError: "" });
    answer = async () => ({ status: 200, error: null });
    await until("another attempt", async () => (await advanceStream(deps)) && seqsOf(id).length > 3);
    expect(await stateOf(admin, id)).toMatchObject({ cursorSeq: 3n, failures: 0 });
    expect(batchesOf(id).map(({ push }) => [push.attempt, push.possibleDuplicate])).toEqual([
      [1, false],
      [1, false],
    ]);
  }, 30_000);

  it("sends nothing while it is paused", async () => {
    const { admin } = await organization(3);
    const { stream } = await client(admin).createStream(toWebhook);
    const id = stream?.id ?? "";
    await client(admin).updateStream({ id, status: "paused" });
    while (await advanceStream(deps));
    expect(batchesOf(id)).toEqual([]);
    await client(admin).updateStream({ id, status: "active" });
    while (await advanceStream(deps));
    expect(seqsOf(id)).toEqual([1, 2, 3]);
  });

  it("limits the bytes of a batch", async () => {
    const { admin, orgId, partnerId } = await organization(1);
    await seal(partnerId, orgId, 12, JSON.stringify({ text: "x".repeat(60_000) }));
    const { stream } = await client(admin).createStream(toWebhook);
    while (await advanceStream(deps));
    const id = stream?.id ?? "";
    expect(seqsOf(id)).toEqual(range(1, 13));
    expect(Math.max(...batchesOf(id).map(({ push }) => push.body.length))).toBeLessThan(400_000);
  });

  it("to the archive writes one object a batch, in lines as an export has them", async () => {
    const { admin, orgId } = await organization(120);
    const { stream, secret } = await client(admin).createStream({ name: "Lake", type: "archive", fromStart: true });
    expect(secret).toBe("");
    while (await advanceStream(deps));
    const at = join(folder, "streams", orgId, stream?.id ?? "");
    const names = (await readdir(at)).sort();
    expect(names).toEqual(["0000000000000001-0000000000000100.jsonl", "0000000000000101-0000000000000120.jsonl"]);
    const lines = (await readFile(join(at, names[1] ?? ""), "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(range(101, 120));
  });
});

describe("the creation of streams", () => {
  it("requires the permission, an own organization and a completed second factor, and is limited in number", async () => {
    const { admin, partner, orgId } = await organization();
    const other = await organization();
    const without: Caller = { ...admin, mfaAt: null };
    const reader: Caller = { ...admin, permissions: ["audit:read"] };
    const sited: Caller = { ...admin, siteIds: [uuidv7()] };
    expect(await refusal(client(without).createStream(toWebhook))).toBe("mfa_required");
    expect(await refusal(client(reader).createStream(toWebhook))).toBe("permission_denied");
    expect(await refusal(client(reader).listStreams({}))).toBe("permission_denied");
    expect(await refusal(client(sited).listStreams({}))).toBe("site_restricted");
    expect(await refusal(client(partner).createStream(toWebhook))).toBe("organization_context_required");
    expect(await refusal(client(other.partner).createStream({ ...toWebhook, orgId }))).toBe("organization_not_found");
    expect(await refusal(client(admin).createStream({ ...toWebhook, url: "http://x" }))).toBe("invalid_webhook_url");
    for (const change of [{ type: "ftp" }, { url: "" }, { name: "" }, { type: "archive" }]) {
      expect(await refusal(client(admin).createStream({ ...toWebhook, ...change }))).toBe("validation_failed");
    }
    const { stream } = await client(partner).createStream({ ...toWebhook, orgId });
    const id = stream?.id ?? "";
    // Awaited together: one that is refused early has somebody who waits for it.
    const calls = [
      client(other.admin).getStream({ id }),
      client(other.admin).updateStream({ id, status: "paused" }),
      client(other.partner).deleteStream({ id }),
      client(admin).getStream({ id: "nonsense" }),
    ];
    expect(await Promise.all(calls.map(refusal))).toEqual(calls.map(() => "audit_stream_not_found"));
    expect(await refusal(client(sited).getStream({ id }))).toBe("site_restricted");
    await client(admin).createStream(toWebhook);
    expect(await refusal(client(admin).createStream(toWebhook))).toBe("limit_reached");
    expect((await client(admin).listStreams({})).streams).toHaveLength(2);
    await client(admin).deleteStream({ id });
    expect(await refusal(client(admin).deleteStream({ id }))).toBe("audit_stream_not_found");
  });

  it("stores URL and secret in columns that re-encryption covers", async () => {
    const { admin } = await organization();
    const { stream } = await client(admin).createStream(toWebhook);
    const newer = `k2:${Buffer.alloc(32, 9).toString("base64")}`;
    const owner = openDatabase({ url: database.ownerUrl, max: 2, name: "audit", log });
    await reencrypt({ db: owner, keys: `${newer},${keys}`, columns: sealedColumns, log });
    const [row] = await owner.read<{ url_sealed: Buffer; secret_sealed: Buffer }>(
      system,
      sql`SELECT url_sealed, secret_sealed FROM audit_streams WHERE id = ${stream?.id}`,
    );
    const fresh = secretBox(newer, secretPurposes.streams);
    const id = stream?.id ?? "";
    expect(fresh.open(row?.url_sealed ?? Buffer.alloc(0), sealedAt.url(id)).toString()).toBe(url);
    expect(fresh.open(row?.secret_sealed ?? Buffer.alloc(0), sealedAt.secret(id)).toString()).toMatch(/^whsec_/);
    await owner.close();
  });

  it("stores URL and secret only sealed, and returns neither in full", async () => {
    const { admin } = await organization();
    const { stream } = await client(admin).createStream({ ...toWebhook, secret: "open sesame" });
    const [row] = await database.db.read<{ text: string }>(
      system,
      sql`SELECT row_to_json(t)::text || encode(url_sealed, 'escape') || encode(secret_sealed, 'escape') AS text
          FROM audit_streams t WHERE id = ${stream?.id}`,
    );
    const outbox = await database.db.read<{ text: string }>(
      system,
      sql`SELECT encode(body, 'escape') AS text FROM outbox`,
    );
    const shown = JSON.stringify((await client(admin).listStreams({})).streams, (_, v) =>
      typeof v === "bigint" ? String(v) : v,
    );
    for (const text of [row?.text ?? "", shown, ...outbox.map((each) => each.text)]) {
      expect(text).not.toMatch(/hidden|open sesame/);
    }
  });
});
