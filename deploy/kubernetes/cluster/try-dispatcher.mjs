import { createServer } from "node:http";
import { ask, call, figures, kubectl, must, say, sleep, until } from "./client.mjs";

/**
 * Receives webhooks at the address that represents the internet, answers after `delayMs`, and counts how often each
 * event came. A repeated delivery without the header for possible repeats is a silent repeat.
 */
export function receiver(delayMs = 20) {
  const seen = new Map();
  const deliveries = new Set();
  let silentRepeats = 0;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const { "x-service-delivery-id": delivery, "x-service-possible-duplicate": isFlagged } = request.headers;
      if (deliveries.has(delivery) && isFlagged !== "true") silentRepeats += 1;
      deliveries.add(delivery);
      const id = JSON.parse(body).data?.n;
      seen.set(id, (seen.get(id) ?? 0) + 1);
      setTimeout(() => response.writeHead(204).end(), delayMs);
    });
  }).listen(9900, "203.0.113.9");
  return { seen, silentRepeats: () => silentRepeats, close: () => server.close() };
}

export async function webhook(session, orgId = session.org.id) {
  const body = {
    orgId,
    name: "Trial",
    url: "http://receiver.test:9900/hook",
    events: ["device.online"],
  };
  return until("a webhook", () => ask("POST", "/webhooks", body, session.token));
}

export async function emit(session, n, orgId = session.org.id) {
  return call("POST", "/events", { type: "device.online", orgId, data: { n } }, session.token);
}

const scale = async (replicas) => {
  await kubectl("scale", "deployment/muster-webhook-sender", `--replicas=${replicas}`);
  await kubectl("rollout", "status", "deployment/muster-webhook-sender", "--timeout=90s");
};

/** The dispatcher alone is scaled 1 → 3 → 1 under load: each accepted event arrives. */
export async function dispatcher(session) {
  const { seen, silentRepeats, close } = receiver();
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
  figures(
    { "events lost by senders that come and go": 0, "silent repeats of senders that come and go": silentRepeats() },
    ["events of senders that come and go", accepted.length, ""],
  );
  must(silentRepeats() === 0, `each repeat says that it may be one (${silentRepeats()} do not)`);
  say(
    `webhook-sender 1 → 3 → 1 under load: ${accepted.length} events accepted, 0 lost, ${repeated} delivered more than once`,
  );
}
