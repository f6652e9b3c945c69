import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { type NoteSigner, signNote } from "@muster/kit";

const main = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
const installer = fileURLToPath(new URL("../../../../gateway/installers/install.sh", import.meta.url));

export type Heartbeat = {
  agentVersion: string;
  watchdogVersion?: string;
  update?: { component: string; version: string; state: string; error?: string };
  /** Milliseconds of the monotonic clock at which it arrived. */
  atMs: number;
};

/** A published file: what travels, and what the manifest says of it. */
export type Published = { version: string; component: string; file: Buffer; manifest: string };

export type FakePlatform = {
  url: string;
  heartbeats: Heartbeat[];
  /** Messages of event logs and of the agent's own log, in the order of their arrival. */
  events: string[];
  logs: string[];
  enrollments: Record<string, unknown>[];
  downloads: IncomingMessage[];
  /** What installers get, and what heartbeats offer. */
  promoted: Published | null;
  offered: Published | null;
  /** Replaces a reply; null for the usual one. */
  answer(path: string): { status: number; body: object } | null;
  /** Replaces how a file is sent. */
  serve(file: Buffer, request: IncomingMessage, response: ServerResponse): void;
  close(): Promise<void>;
};

/**
 * A program as a script that runs the compiled agent as this version, or something else. It finds its config where a
 * built program does.
 */
export function scriptOf(version: string, then = 'exec "$NODE" "$MAIN" "$@"'): Buffer {
  return Buffer.from(`#!/bin/sh
if [ "$1" = --version ]; then echo "muster-agent ${version} (test)"; exit; fi
NODE='${process.execPath}' MAIN='${main}'
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
export MUSTER_AGENT_DEV_VERSION=${version} MUSTER_AGENT_CONFIG="$root/config.json"
${then}
`);
}

/** Publishes a program: packed, named by a manifest that this key signed. */
export function publish(
  version: string,
  program: Buffer,
  signer: NoteSigner,
  change: object = {},
  file: { libc?: string } = {},
): Published {
  const packed = gzipSync(program);
  const artifact = {
    os: "linux",
    arch: process.arch === "arm64" ? "arm64" : "amd64",
    size: packed.length,
    sha256: digestOf(packed),
    encoding: "gzip",
    program: { size: program.length, sha256: digestOf(program) },
    name: "muster-agent",
    ...file,
  };
  // A manifest has the files of other machines, too.
  const other = { ...artifact, libc: file.libc ? "gnu" : "musl", size: 1, sha256: "0".repeat(64) };
  const line = { version, component: "agent", counter: 4, artifacts: [other, artifact], ...change };
  return { version, component: line.component, file: packed, manifest: signNote(`${JSON.stringify(line)}\n`, signer) };
}

/** What agents and installers need of a platform, on loopback. */
export async function startFakePlatform(): Promise<FakePlatform> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const bytes = Buffer.concat(chunks);
      const text = request.headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes;
      reply(request, response, text.length > 0 ? JSON.parse(text.toString()) : {});
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const json = (response: ServerResponse, status: number, body: object) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const reply = (request: IncomingMessage, response: ServerResponse, body: Record<string, unknown>) => {
    const path = request.url ?? "";
    const instead = platform.answer(path);
    if (instead) return json(response, instead.status, instead.body);
    if (path === "/install.sh") {
      const text = readFileSync(installer, "utf8").replaceAll("@PUBLIC_URL@", url);
      return response.writeHead(200, { "content-type": "text/plain" }).end(text);
    }
    if (path.includes("/manifest")) return response.writeHead(200).end(platform.promoted?.manifest);
    if (path.includes("/agents/download/")) {
      platform.downloads.push(request);
      const named = [platform.offered, platform.promoted].find((each) => each && path.includes(`=${each.version}`));
      return platform.serve((named ?? platform.promoted)?.file ?? Buffer.alloc(0), request, response);
    }
    if (path.endsWith("/enroll")) {
      platform.enrollments.push({ ...body, atMs: performance.now() });
      const device = { agentId: "device", deviceId: "device", orgId: "org", token: "agt_secret-of-the-device" };
      return json(response, 201, { ...device, heartbeatIntervalSeconds: 1 });
    }
    if (path.endsWith("/logs")) {
      const entries = body.logs as { message: string }[];
      platform.logs.push(...entries.map(({ message }) => message));
      return json(response, 201, { received: entries.length });
    }
    if (path.endsWith("/eventlogs")) {
      const entries = body.events as { message: string }[];
      platform.events.push(...entries.map(({ message }) => message));
      return json(response, 200, { success: true, count: entries.length });
    }
    if (path.endsWith("/heartbeat")) return json(response, 200, heartbeat(body as unknown as Heartbeat));
    return json(response, 404, { code: "not_found" });
  };
  const heartbeat = (body: Heartbeat): object => {
    platform.heartbeats.push({ ...body, atMs: performance.now() });
    const { offered } = platform;
    const isOver = body.update?.state === "failed" || body.update?.state === "rolled_back";
    const runs = offered?.component === "watchdog" ? body.watchdogVersion : body.agentVersion;
    if (isOver || runs === offered?.version) platform.offered = null;
    const now = { status: "online", serverTime: new Date().toISOString(), heartbeatIntervalSeconds: 1 };
    return { ...now, updates: platform.offered ? [offerOf(platform.offered, url)] : [] };
  };

  const platform: FakePlatform = {
    url,
    heartbeats: [],
    events: [],
    logs: [],
    enrollments: [],
    downloads: [],
    promoted: null,
    offered: null,
    answer: () => null,
    serve: (file, _request, response) => void response.writeHead(200, { "content-length": file.length }).end(file),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return platform;
}

function offerOf({ version, component, file, manifest }: Published, url: string): object {
  const address = `${url}/api/v1/agents/download/linux/amd64?component=${component}&version=${version}`;
  const bytes = { size: file.length, sha256: digestOf(file) };
  return { attemptId: `a-${version}`, component, version, url: address, ...bytes, manifest, rootNotes: [] };
}

const digestOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
