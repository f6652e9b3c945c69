import { createSocket, type Socket } from "node:dgram";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { until } from "@muster/testing";
import type { Api } from "./client.ts";
import type { Cluster } from "./cluster.ts";

/**
 * A name server for TXT records at the address that the cluster queries (RFC 1035). One test file uses it at a time:
 * the port is one.
 */
export async function startDns(
  cluster: Cluster,
  records: ReadonlyMap<string, string>,
): Promise<{ close(): Promise<void> }> {
  const port = JSON.parse(await readFile(join(dirname(cluster.dataDir), "dns.json"), "utf8")) as number;
  const socket = await until("the name server's port", () => bound(port), 60_000);
  socket.on("message", (query, from) => {
    const { name, end } = nameIn(query);
    const text = records.get(name.toLowerCase());
    socket.send(answerTo(query.subarray(0, end + 4), text), from.port, from.address);
  });
  return { close: () => new Promise((resolve) => socket.close(() => resolve())) };
}

function bound(port: number): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.once("error", (error: NodeJS.ErrnoException) => {
      socket.close();
      if (error.code === "EADDRINUSE") resolve(null);
      else reject(error);
    });
    socket.bind(port, "127.0.0.1", () => resolve(socket));
  });
}

/** The name of the one question, and where it ends. */
function nameIn(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join("."), end: at + 1 };
}

/** Header and question, with one TXT record, or with NXDOMAIN. */
function answerTo(question: Buffer, text: string | undefined): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(text === undefined ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(text === undefined ? 0 : 1, 6);
  head.writeUInt32BE(0, 8);
  if (text === undefined) return head;
  const record = Buffer.alloc(13 + text.length);
  // A pointer to the question's name, TXT, IN, no life, the record's and the text's length.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(16, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(text.length + 1, 10);
  record.writeUInt8(text.length, 12);
  record.write(text, 13, "latin1");
  return Buffer.concat([head, record]);
}

/** Claims a domain for a place and shows it to be its own. */
export async function verifiedDomain(cluster: Cluster, by: Api, domain: string, owner: object = {}): Promise<string> {
  const claimed = await by.call("POST", "/sso/domains", { domain, ...owner });
  if (claimed.status !== 201) throw new Error(`the claim answered ${claimed.status}: ${JSON.stringify(claimed.body)}`);
  const records = new Map([[String(claimed.body.recordName), String(claimed.body.recordValue)]]);
  const dns = await startDns(cluster, records);
  try {
    const verified = await by.call("POST", `/sso/domains/${claimed.body.id}/verify`);
    if (verified.body.verifiedAt == null) throw new Error(`not verified: ${JSON.stringify(verified.body)}`);
  } finally {
    await dns.close();
  }
  return String(claimed.body.id);
}
