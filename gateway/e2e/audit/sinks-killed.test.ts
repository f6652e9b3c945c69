import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createServer as createHttps } from "node:https";
import type { Server } from "node:net";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { listening, testCaFile, testCertificate, until } from "@muster/testing";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { claimReceiverPort } from "../support/receiver.ts";
import { enrollTotp, newOrganization, newPartner, newSite, signedInAs, type TestUser } from "../support/users.ts";

// Streams to sinks with an authority of their own, while the process that sends them is killed.

/** Longer than the lease that a killed process leaves behind. */
const patienceMs = 150_000;
const ca = readFileSync(testCaFile, "utf8");
let cluster: LentCluster;
let partnerId: string;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  cluster = await lentCluster("killed");
  partnerId = await newPartner(cluster);
}, lendMs);
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await cluster?.giveBack();
});

/** A row that arrived, and the id under which its receiver recognises a repeat. */
type Arrived = { seq: number; under: string };

/** An organization of its own: of one, one stream is sent at a time. */
async function ownOrganization(): Promise<{ orgId: string; admin: TestUser }> {
  const orgId = await newOrganization(cluster, partnerId);
  const admin = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  await enrollTotp(admin);
  return { orgId, admin };
}

/** Listens on a port that sinks may have; host and port. */
async function listen(server: Server): Promise<string> {
  const { port, url, release } = await claimReceiverPort(cluster);
  const { close } = await listening(server, port);
  closing.push(release, close);
  return new URL(url).host;
}

/** Holds answers back while it is closed. */
function gate() {
  const held: (() => void)[] = [];
  let isOpen = true;
  return {
    held,
    pass: (answer: () => void) => void (isOpen ? answer() : held.push(answer)),
    close: () => {
      isOpen = false;
    },
    open: () => {
      isOpen = true;
      for (const answer of held.splice(0)) answer();
    },
  };
}

function https(rowsOf: (path: string, id: string, body: Buffer) => Arrived[]) {
  const arrived: Arrived[] = [];
  const answers = gate();
  const server = createHttps(testCertificate(), (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const id = String(request.headers["x-service-delivery-id"]);
      arrived.push(...rowsOf(request.url ?? "", id, Buffer.concat(chunks)));
      answers.pass(() => response.end());
    });
  });
  return { server, arrived, answers };
}

const linesOf = (text: string, under: string): Arrived[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => ({ seq: (JSON.parse(line) as { seq: number }).seq, under }));

function syslog() {
  const arrived: Arrived[] = [];
  const answers = gate();
  const server = createTls({ ...testCertificate(), allowHalfOpen: true }, (socket) => {
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("end", () => answers.pass(() => socket.end()));
    // What came over a connection that broke counts as well: such rows come again.
    socket.on("close", () => {
      for (const [, under = "", seq] of text.matchAll(/\[muster@32473 id="([^"]+)" seq="(\d+)"/g)) {
        arrived.push({ seq: Number(seq), under });
      }
    });
  });
  return { server, arrived, answers };
}

const batchOf = (body: Buffer) => (JSON.parse(body.toString()) as { data: { rows: { seq: number }[] } }).data.rows;

const sinks = {
  webhook: () => ({
    ...https((_path, id, body) => batchOf(body).map(({ seq }) => ({ seq, under: id }))),
    fields: (host: string) => ({ url: `https://${host}/rows` }),
  }),
  https: () => ({
    ...https((_path, id, body) => linesOf(body.toString(), id)),
    fields: (host: string) => ({ ca, url: `https://${host}/rows`, envelope: "ndjson" }),
  }),
  s3: () => ({
    ...https((path, _id, body) => linesOf(gunzipSync(body).toString(), path)),
    fields: (host: string) => ({
      ca,
      s3: {
        bucket: "siem",
        region: "us-east-1",
        endpoint: `https://${host}`,
        pathStyle: true,
        accessKeyId: "key",
        secretAccessKey: "hidden-key",
      },
    }),
  }),
  syslog: () => ({ ...syslog(), fields: (host: string) => ({ ca, url: `tls://${host}` }) }),
} as const;

async function create(admin: TestUser, wanted: object): Promise<string> {
  const created = await admin.api.call("POST", "/audit-logs/streams", { from: "start", ...wanted });
  if (created.status !== 201) throw new Error(`answered ${created.status}: ${JSON.stringify(created.body)}`);
  return String(created.body.id);
}

async function killAudit(): Promise<void> {
  const pid = (await cluster.stack()).services.audit?.pid;
  if (pid) process.kill(pid, "SIGKILL");
  await until(
    "another audit service",
    async () => ![undefined, pid].includes((await cluster.stack()).services.audit?.pid),
    120_000,
  );
}

async function streamTo(type: keyof typeof sinks) {
  const sink = sinks[type]();
  const host = await listen(sink.server);
  const { orgId, admin } = await ownOrganization();
  const path = `/audit-logs/streams/${await create(admin, { name: type, type, ...sink.fields(host) })}`;
  return { ...sink, type, orgId, path, api: admin.api };
}

/** To the operator's folder, which answers nobody; a file that is written again replaces the one before. */
async function streamToArchive() {
  const { orgId, admin } = await ownOrganization();
  const id = await create(admin, { name: "archive", type: "archive" });
  const folder = join(cluster.dataDir, "archive", "streams", orgId, id);
  const stored = async (): Promise<Arrived[]> => {
    // Without what a killed process left behind, which no reader of the archive sees.
    const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    return texts.flatMap((text, at) => linesOf(text, String(names[at])));
  };
  return { type: "archive", orgId, path: `/audit-logs/streams/${id}`, api: admin.api, stored };
}

type Streaming = Pick<TestUser, "api"> & { type: string; path: string };

/** Rows that a sink lacks of those that the stream counts as sent, and rows that came under more than one id. */
async function resultOf({ type, api, path }: Streaming, found: () => Promise<Arrived[]> | Arrived[]) {
  const state = await until(
    `every row to be accepted by ${type}`,
    async () => {
      const { status, body } = await api.call("GET", path);
      return status === 200 && body.lagRows === 0 ? body : null;
    },
    patienceMs,
  );
  const arrived = await found();
  const ids = new Map<number, Set<string>>();
  for (const { seq, under } of arrived) ids.set(seq, (ids.get(seq) ?? new Set()).add(under));
  const missing = Array.from({ length: Number(state.cursorSeq) }, (_, n) => n + 1).filter((seq) => !ids.has(seq));
  const otherIds = [...ids].filter(([, under]) => under.size > 1).map(([seq]) => seq);
  const repeats = arrived.length - ids.size;
  return { type, missing, otherIds, isRepeated: repeats > 0 };
}

describe("a stream", () => {
  it("loses no row and repeats none without its id, while its process is killed", async () => {
    const streams = await Promise.all((["webhook", "https", "s3", "syslog"] as const).map(streamTo));
    const archive = await streamToArchive();
    let isOver = false;
    const making = Promise.all(
      [archive, ...streams].map(async ({ orgId }) => {
        while (!isOver) await newSite(cluster, orgId);
      }),
    );
    for (let n = 0; n < 2; n++) await killAudit();
    isOver = true;
    await making;
    // Each sink has a batch, and its process does not learn so.
    for (const { answers } of streams) answers.close();
    for (const { orgId, answers, type } of streams) {
      await newSite(cluster, orgId);
      await until(`a batch at ${type}`, () => answers.held.length > 0, patienceMs);
    }
    await killAudit();
    for (const { orgId } of streams) await newSite(cluster, orgId);
    for (const { answers } of streams) answers.open();
    const results = await Promise.all(streams.map((each) => resultOf(each, () => each.arrived)));
    const whole = { missing: [], otherIds: [] };
    expect(results).toEqual(streams.map(({ type }) => ({ type, ...whole, isRepeated: true })));
    expect(await resultOf(archive, archive.stored)).toEqual({ type: "archive", ...whole, isRepeated: false });
    for (const { api, path } of [archive, ...streams]) await api.call("DELETE", path);
  }, 600_000);

  it("says what it saw when the certificate of its sink is no longer of its authority, and goes on later", async () => {
    const { server, arrived } = https((_path, id, body) => linesOf(body.toString(), id));
    const host = await listen(server);
    const { orgId, admin } = await ownOrganization();
    const wanted = { name: "CA", type: "https", envelope: "ndjson", from: "start", ca, url: `https://${host}/` };
    const created = await admin.api.call("POST", "/audit-logs/streams", wanted);
    const state = async () => (await admin.api.call("GET", `/audit-logs/streams/${created.body.id}`)).body;
    await until("the rows", async () => (await state()).lagRows === 0, patienceMs);
    const before = arrived.length;
    server.setSecureContext(testCertificate("self-signed"));
    server.closeAllConnections();
    await newSite(cluster, orgId);
    const failing = await until(
      "a failure",
      async () => {
        const shown = await state();
        return Number(shown.consecutiveFailures) > 0 ? shown : null;
      },
      patienceMs,
    );
    expect(failing).toMatchObject({ status: "active", lastError: expect.stringMatching(/certificate/i) });
    expect(arrived).toHaveLength(before);
    server.setSecureContext(testCertificate());
    await until("the row after all", async () => (await state()).lagRows === 0, patienceMs);
    expect(await state()).toMatchObject({ consecutiveFailures: 0 });
    await admin.api.call("DELETE", `/audit-logs/streams/${created.body.id}`);
  }, 300_000);
});
