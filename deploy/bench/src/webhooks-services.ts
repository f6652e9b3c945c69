import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { startStack } from "@muster/local";
import { administrator, callAt, newOrganization, password } from "./administrator.ts";
import { loadAverage } from "./process-usage.ts";
import { percentiles } from "./webhooks-cluster.ts";

const perSecond = 5;
const warmSeconds = 5;
const types = ["device.enrolled", "device.online"] as const;

type Arrival = { type: string; deviceId: string; atMs: number; eventMs: number };

/**
 * `npm run bench -- webhooks-services [seconds]`: events that services emit by themselves. Five devices a second (for
 * 20 seconds) enroll and send their first heartbeat; a webhook gets `device.enrolled` and `device.online`. Prints the
 * time from the event's own timestamp, which is taken before its COMMIT, to the request at the receiver. Ends with
 * status 1 when an event did not come within 10 seconds.
 */
export async function run([seconds = "20"]: string[] = []): Promise<void> {
  const receiver = await startReceiver();
  const name = "receiver.test";
  const running = await startStack({
    adminPassword: password,
    env: { PASSWORD_SCRYPT_LOG_N: "10", EGRESS_TEST_EXCEPTIONS: `http://${name}:${receiver.port}=127.0.0.1` },
  });
  try {
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const { orgId } = await newOrganization(root);
    const total = (warmSeconds + Number(seconds)) * perSecond;
    const hook = {
      orgId,
      name: "Bench",
      url: `http://${name}:${receiver.port}/`,
      events: [...types],
      secret: "top secret",
    };
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    await must(201, root("POST", "/webhooks", hook));
    const made = await must(
      201,
      root("POST", "/enrollment-keys", { orgId, name: "Bench", maxUsage: total, expiresAt }),
    );
    const loadBefore = loadAverage();
    const devices = new Set<string>();
    const enroll = async (number: number) => {
      const machine = {
        hostname: "bench",
        os: "linux",
        arch: "amd64",
        agentVersion: "1.0.0",
        hardwareId: randomUUID(),
      };
      const wanted = { enrollmentKey: made.key, ...machine };
      const { agentId, token } = await must(201, callAt(url, null, "POST", "/agents/enroll", wanted));
      const beat = { agentVersion: "1.0.0" };
      await must(200, callAt(url, String(token), "POST", `/agents/${agentId}/heartbeat`, beat));
      if (number >= warmSeconds * perSecond) devices.add(String(agentId));
    };
    const under: Promise<void>[] = [];
    for (let number = 0; number < total; number++) {
      under.push(enroll(number));
      await sleep(1_000 / perSecond);
    }
    await Promise.all(under);
    const isThere = () => receiver.arrivals.filter(({ deviceId }) => devices.has(deviceId)).length >= devices.size * 2;
    for (let tries = 0; tries < 100 && !isThere(); tries++) await sleep(100);
    const table = types.map((type) => {
      const own = receiver.arrivals.filter((each) => each.type === type && devices.has(each.deviceId));
      const of = percentiles(own.map(({ atMs, eventMs }) => atMs - eventMs));
      const loads = `${loadBefore.toFixed(1)} → ${loadAverage().toFixed(1)}`;
      const missing = devices.size - new Set(own.map(({ deviceId }) => deviceId)).size;
      return { type, load: loads, events: devices.size, "p50 ms": of(0.5), "p99 ms": of(0.99), missing };
    });
    console.table(table);
    if (table.some(({ missing }) => missing > 0)) process.exitCode = 1;
  } finally {
    await running.stop();
    receiver.stop();
  }
}

/** The body of a reply with that status; throws what it says otherwise. */
async function must(status: number, reply: ReturnType<typeof callAt>): Promise<Record<string, unknown>> {
  const { status: got, body } = await reply;
  if (got !== status) throw new Error(`answered ${got}: ${JSON.stringify(body)}`);
  return body;
}

/** Takes every delivery; times are milliseconds since 1970, as those of the events. */
async function startReceiver(): Promise<{ port: number; arrivals: Arrival[]; stop(): void }> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const atMs = performance.timeOrigin + performance.now();
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { type, timestamp, data } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      arrivals.push({ type, deviceId: String(data.deviceId ?? data.id), atMs, eventMs: Date.parse(timestamp) });
      response.writeHead(200, { "content-length": 2 }).end("ok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { port, arrivals, stop: () => void server.close() };
}
