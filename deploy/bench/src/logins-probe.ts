// Requests of the logins and abuse benches: argv = gateway URL, API key or access token, requests per second. Each
// message {ms} is one round of GET /devices, sent at their times whether earlier ones were answered or not; latency
// counts from when each was due.
import { Agent, request } from "node:http";

const [url = "", credential = "", perSecond = ""] = process.argv.slice(2);
const headers: Record<string, string> = credential.startsWith("svc_")
  ? { "x-api-key": credential }
  : { authorization: `Bearer ${credential}` };
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export type ProbeRound = { p50: number; p95: number; p99: number; max: number; refused: number };

process.on("message", async ({ ms }: { ms: number }) => {
  const samples: number[] = [];
  let refused = 0;
  const open: Promise<void>[] = [];
  const startedMs = performance.now();
  const total = Math.floor((ms / 1_000) * Number(perSecond));
  for (let sent = 0; sent < total; ) {
    const dueMs = startedMs + (sent * 1_000) / Number(perSecond);
    if (performance.now() < dueMs) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      continue;
    }
    sent += 1;
    open.push(
      get().then((status) => {
        samples.push(performance.now() - dueMs);
        if (status !== 200) refused += 1;
      }),
    );
  }
  await Promise.all(open);
  samples.sort((a, b) => a - b);
  const at = (quantile: number) => samples[Math.min(samples.length - 1, Math.floor(samples.length * quantile))] ?? 0;
  const round: ProbeRound = { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), refused };
  process.send?.(round);
});
process.send?.("ready");

function get(): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/v1/devices?limit=1`, { agent, headers }, (reply) => {
      reply.resume();
      reply.once("end", () => resolve(reply.statusCode ?? 0));
    });
    sent.once("error", reject);
    sent.end();
  });
}
