import { createServer } from "node:http";
import { ask, call, kubectl, must, say, sleep, until } from "./client.mjs";

/** Receives webhooks at the address that stands for the internet, and counts each event once. */
export function receiver() {
  const seen = new Map();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const id = JSON.parse(body).data?.n;
      seen.set(id, (seen.get(id) ?? 0) + 1);
      setTimeout(() => response.writeHead(204).end(), 20);
    });
  }).listen(9900, "203.0.113.9");
  return { seen, close: () => server.close() };
}

export async function webhook(session) {
  const body = {
    orgId: session.org.id,
    name: "Trial",
    url: "http://receiver.test:9900/hook",
    events: ["device.online"],
  };
  return until("a webhook", () => ask("POST", "/webhooks", body, session.token));
}

export async function emit(session, n) {
  return call("POST", "/events", { type: "device.online", orgId: session.org.id, data: { n } }, session.token);
}

const scale = async (replicas) => {
  await kubectl("scale", "deployment/muster-webhook-sender", `--replicas=${replicas}`);
  await kubectl("rollout", "status", "deployment/muster-webhook-sender", "--timeout=90s");
};

/** The dispatcher alone goes 1 → 3 → 1 under load: each accepted event arrives. */
export async function dispatcher(session) {
  const { seen, close } = receiver();
  await webhook(session);
  const accepted = [];
  let going = true;
  const emitting = (async () => {
    for (let n = 0; going; n += 10) {
      const some = Array.from({ length: 10 }, (_, index) => n + index);
      const answers = await Promise.all(some.map((each) => emit(session, each)));
      for (const [index, { status }] of answers.entries()) if (status === 202) accepted.push(some[index]);
      await sleep(100);
    }
  })();
  await sleep(3_000);
  await scale(3);
  await sleep(5_000);
  await scale(1);
  await sleep(3_000);
  going = false;
  await emitting;
  must(accepted.length > 300, `enough events were accepted (${accepted.length})`);
  await until("every event delivered", () => accepted.every((n) => seen.has(n)), 120_000);
  const repeated = accepted.filter((n) => seen.get(n) > 1).length;
  close();
  say(
    `webhook-sender 1 → 3 → 1 under load: ${accepted.length} events accepted, 0 lost, ${repeated} delivered more than once`,
  );
}
