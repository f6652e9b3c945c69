import { readdir, readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Leak, type SecretScanner, secretScanner, until } from "@muster/testing";
import pg from "pg";
import type { Api } from "../support/client.ts";
import { type Cluster, ownCluster } from "../support/cluster.ts";
import { handedOut, noteSecret } from "../support/handed-out.ts";
import { secretMakers } from "../support/secret-makers.ts";
import { newOrganization, newPartner, operator } from "../support/users.ts";

let cluster: Cluster & { stop(): Promise<void> };
let collector: Server;
const traces: Buffer[] = [];
let root: Api;
let orgId: string;
/** By maker: how many secrets it brought. */
const made: Record<string, number> = {};

beforeAll(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      traces.push(request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body);
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  cluster = await ownCluster({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
    OTEL_TRACES_SAMPLER_ARG: "1",
    OTEL_BSP_SCHEDULE_DELAY: "200",
  });
  root = await operator(cluster);
  orgId = await newOrganization(cluster, await newPartner(cluster));
  await until("the organization to arrive at identity", async () => {
    const { status } = await root.call("POST", "/api-keys", { orgId, name: "First", scopes: [] });
    return status === 201;
  });
  for (const [name, make] of Object.entries(secretMakers)) {
    const before = handedOut(cluster).length;
    await make({ cluster, root, orgId });
    made[name] = handedOut(cluster).length - before;
  }
}, 240_000);
afterAll(async () => {
  await cluster?.stop();
  await new Promise((resolve) => collector?.close(resolve));
}, 60_000);

const scanner = (digests: boolean): SecretScanner => {
  const scan = secretScanner({ digests });
  for (const secret of handedOut(cluster)) scan.add(secret);
  return scan;
};
const sentences = (location: string, leaks: readonly Leak[]) =>
  leaks.map(({ name, form }) => `${location}: ${name} (${form})`);

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function searchFiles(
  folder: string,
  scan: SecretScanner,
): Promise<{ files: number; bytes: number; found: string[] }> {
  let bytes = 0;
  const found: string[] = [];
  const files = await filesUnder(folder);
  for (const file of files) {
    const content = await readFile(file);
    bytes += content.length;
    found.push(...sentences(file, scan.find(content)));
  }
  return { files: files.length, bytes, found };
}

/** Every table of every schema as the text of a dump, binary columns in hex. */
async function searchDatabase(scan: SecretScanner): Promise<{ rows: Record<string, number>; found: string[] }> {
  const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  await client.connect();
  try {
    const rows: Record<string, number> = {};
    const found: string[] = [];
    const { rows: tables } = await client.query<{ name: string }>(`
      SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`);
    for (const { name } of tables) {
      const dump = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      rows[name] = dump.rows.length;
      found.push(...sentences(name, scan.find(Buffer.from(dump.rows.map(({ row }) => row).join("\n")))));
    }
    return { rows, found };
  } finally {
    await client.end();
  }
}

describe("an attacker who reads everything that the product stores", () => {
  it("was looked for with every kind of secret", () => {
    for (const [name, secrets] of Object.entries(made)) expect([name, secrets > 0]).toEqual([name, true]);
    expect(handedOut(cluster).length).toBeGreaterThan(40);
  });

  it("finds none in a dump of the database", async () => {
    const { rows, found } = await searchDatabase(scanner(false));
    expect(found).toEqual([]);
    for (const table of [
      "sessions",
      "user_totp",
      "recovery_codes",
      "api_keys",
      "enrollment_keys",
      "idempotency",
      "outbox",
    ]) {
      expect([table, (rows[`identity.${table}`] ?? 0) > 0]).toEqual([table, true]);
    }
    expect(rows["identity.users"]).toBeGreaterThan(3);
  });

  it("finds none in the files of the message store", async () => {
    const { bytes, found } = await searchFiles(join(cluster.dataDir, "nats"), scanner(false));
    expect(bytes).toBeGreaterThan(10_000);
    expect(found).toEqual([]);
  });

  it("finds none, nor a digest, in the logs of all processes, at their most talkative", async () => {
    const { files, bytes, found } = await searchFiles(join(cluster.dataDir, "logs"), scanner(true));
    expect(files).toBeGreaterThan(7);
    expect(bytes).toBeGreaterThan(10_000);
    expect(found).toEqual([]);
  });

  it("finds none, nor a digest, in the traces", async () => {
    const all = () => Buffer.concat(traces);
    await until("spans of gateway and identity", () => {
      const text = all().toString("latin1");
      return text.includes("muster-gateway") && text.includes("muster.identity.v1.SessionService");
    });
    expect(sentences("traces", scanner(true).find(all()))).toEqual([]);
  });

  it("finds none, nor a digest, in audit rows", async () => {
    const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query<{ name: string }>(
        `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'r' AND n.nspname = 'audit'`,
      );
      let count = 0;
      for (const { name } of rows) {
        const dump = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
        count += dump.rows.length;
        const text = Buffer.from(dump.rows.map(({ row }) => row).join("\n"));
        expect(sentences(name, scanner(true).find(text))).toEqual([]);
      }
      expect(count).toBeGreaterThan(20);
    } finally {
      await client.end();
    }
  });

  it("is found out when there is one", async () => {
    const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
    await client.connect();
    try {
      const secret = "a secret that somebody stored";
      noteSecret(cluster, { name: "planted", value: secret });
      await client.query("UPDATE identity.sessions SET user_agent = $1", [Buffer.from(secret).toString("base64")]);
      expect((await searchDatabase(scanner(false))).found).toContain("identity.sessions: planted (base64)");
    } finally {
      await client.end();
    }
  });
});
