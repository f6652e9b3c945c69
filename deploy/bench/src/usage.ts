import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { startStack } from "@muster/local";
import { administrator, type Call, newOrganization, password } from "./administrator.ts";
import type { Report } from "./report.ts";

const clientsPerGateway = 16;
const killRounds = 5;

/**
 * `npm run bench -- usage [requests]`: requests with one API key through each of two gateways (10,000 when not said,
 * 45,000 at most), then `usageCount` must be their number. Then a gateway is killed −9 under load, five times over: how
 * many admitted requests were never counted, and how many milliseconds of its load that is (a second at most). Ends
 * with status 1 otherwise.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const requests = Math.min(Number(args[0] ?? 10_000), 45_000);
  const running = await startStack({
    adminPassword: password,
    env: { MUSTER_REPLICAS: "gateway=2", PASSWORD_SCRYPT_LOG_N: "12" },
  });
  try {
    const gateways = running.stack.gateways.map(({ url }) => url);
    const root = await administrator(gateways[0] as string);
    const { orgId } = await newOrganization(root);
    const counted = await exactly(root, orgId, gateways, requests);
    const killed = [];
    for (let round = 1; round <= killRounds; round++) {
      const gateway = running.refresh().gateways[1];
      if (!gateway?.pid) throw new Error("the second gateway has gone");
      killed.push(await withKill(root, orgId, gateway.url, gateway.pid));
      await backAgain(gateway.url);
    }
    console.table([counted]);
    console.table(killed);
    const lost = Math.max(...killed.map((round) => round["ms lost"]));
    report.atMost("lost by a kill", lost, "ms of load", 1_000);
    report.none({ "miscounted through two gateways": Math.abs(counted.usageCount - counted.admitted) });
    report.also("requests", counted.requests, "");
    report.also("kills", killRounds, "");
    if (counted.usageCount !== counted.admitted || lost > 1_000) process.exitCode = 1;
  } finally {
    await running.stop();
  }
}

async function newKey(root: Call, orgId: string): Promise<{ id: string; key: string }> {
  const { status, body } = await root("POST", "/api-keys", { orgId, name: "Usage", rateLimit: 100_000 });
  if (status !== 201) throw new Error(`POST /api-keys answered ${status}`);
  return { id: String(body.id), key: String(body.key) };
}

async function exactly(root: Call, orgId: string, gateways: readonly string[], requests: number) {
  const { id, key } = await newKey(root, orgId);
  let admitted = 0;
  const each = async (url: string) => {
    let left = requests;
    const client = async () => {
      while (left-- > 0) if (await isAdmitted(url, key)) admitted++;
    };
    await Promise.all(Array.from({ length: clientsPerGateway }, client));
  };
  await Promise.all(gateways.map(each));
  const usageCount = await settledCount(root, id, admitted);
  return { gateways: gateways.length, requests: requests * gateways.length, admitted, usageCount };
}

/** Loads one gateway for two to four seconds, kills it, and compares what it admitted with what was counted. */
async function withKill(root: Call, orgId: string, url: string, pid: number) {
  const { id, key } = await newKey(root, orgId);
  let admitted = 0;
  const startedMs = performance.now();
  const client = async () => {
    try {
      for (;;) if (await isAdmitted(url, key)) admitted++;
    } catch {
      // The gateway was killed: only what it answered before counts.
    }
  };
  const clients = Promise.all(Array.from({ length: clientsPerGateway }, client));
  await delay(randomInt(2_000, 4_000));
  process.kill(pid, "SIGKILL");
  await clients;
  const perMs = admitted / (performance.now() - startedMs);
  const usageCount = await settledCount(root, id, admitted);
  return { admitted, usageCount, lost: admitted - usageCount, "ms lost": Math.round((admitted - usageCount) / perMs) };
}

async function isAdmitted(url: string, key: string): Promise<boolean> {
  const reply = await fetch(`${url}/api/v1/auth/me`, { headers: { "x-api-key": key } });
  await reply.arrayBuffer();
  return reply.status === 200;
}

/** `usageCount` once it has the expected value, or has not changed for three seconds. */
async function settledCount(root: Call, id: string, wanted: number): Promise<number> {
  let last = -1;
  for (let still = 0; still < 30; ) {
    const { body } = await root("GET", `/api-keys/${id}`);
    const count = Number(body.usageCount);
    if (count === wanted) return count;
    still = count === last ? still + 1 : 0;
    last = count;
    await delay(100);
  }
  return last;
}

async function backAgain(url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const status = await fetch(`${url}/health`).then(
      (reply) => reply.status,
      () => 0,
    );
    if (status === 200) return;
    await delay(100);
  }
  throw new Error("the gateway did not come back");
}
