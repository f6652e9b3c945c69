import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, dir, figures, helm, kubectl, load, must, root, say, sleep, until } from "./client.mjs";
import { emit, receiver, webhook } from "./try-dispatcher.mjs";

const chart = join(root, "charts/muster");
const values = join(chart, "ci/cluster-values.yaml");
/** Events a second; one sender has slots for eight requests of 400 ms, which is 20 a second. */
const perSecond = 45;
const delayMs = 400;

/**
 * Few slots, so that a backlog builds at a load that two cores carry; events are accepted for as long as it is below a
 * minute.
 */
const config = { SENDER_CONCURRENCY: 8, ORGANIZATION_SHARE_PERCENT: 100, INTAKE_OVERDUE_MAX_MS: 60_000 };
const scaled = {
  keda: {
    enabled: true,
    prometheusUrl: "http://prometheus.keda.svc.cluster.local:9090",
    scaleDownSeconds: 15,
    sender: { maxReplicas: 3, oldestDueSeconds: 3 },
    matcher: { maxReplicas: 2 },
  },
  services: { "webhook-matcher": { config }, "webhook-sender": { config } },
};

/** Takes back a number of pods that the autoscaler of the part before has left (docs/operations/scaling.md). */
const ours = ["--force-conflicts", "--wait", "--timeout", "5m"];
const upgrade = (...more) => helm("upgrade", "muster", chart, "-f", values, ...more, ...ours);
const wanted = async () =>
  Number(await kubectl("get", "deployment/muster-webhook-sender", "-o", "jsonpath={.spec.replicas}"));
const ready = async () =>
  Number(await kubectl("get", "deployment/muster-webhook-sender", "-o", "jsonpath={.status.readyReplicas}"));

/**
 * Three organizations, each with a webhook: the events of one organization use at most the slots of one sender, however
 * many senders there are.
 */
async function emitters(session) {
  const orgIds = [];
  for (const n of [1, 2, 3]) {
    const slug = `keda-${n}-${Date.now()}`;
    const organization = { partnerId: session.partner.id, name: "KEDA", slug };
    orgIds.push((await ask("POST", "/orgs/organizations", organization, session.token)).id);
  }
  for (const orgId of orgIds) await webhook(session, orgId);
  return orgIds;
}

/**
 * KEDA takes the senders from one pod to three by the chart's ScaledObject while deliveries wait, and back to one after
 * it.
 */
export async function keda(session) {
  const file = join(dir, "keda-values.json");
  writeFileSync(file, JSON.stringify(scaled));
  await upgrade("-f", file);
  await kubectl("wait", "--for=condition=Ready", "scaledobject", "--all", "--timeout=60s");
  must((await wanted()) === 1, "one sender at rest");

  const { seen, silentRepeats, close } = receiver(delayMs);
  const accepted = [];
  let n = 0;
  const emitting = (orgId) => async () => {
    n += 1;
    const mine = `keda-${n}`;
    const answer = await emit(session, mine, orgId);
    if (answer.status === 202) accepted.push(mine);
    return answer;
  };
  const running = load(perSecond, (await emitters(session)).map(emitting));
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 1_000);
  await until("three senders wanted", async () => (await wanted()) === 3, 180_000);
  const wantedAfter = seconds();
  await until("three senders ready", async () => (await ready()) === 3, 60_000);
  const readyAfter = seconds();
  const waiting = accepted.filter((each) => !seen.has(each)).length;
  await sleep(10_000);
  const { failed, sent } = await running.stop();
  const emittedFor = seconds();
  await until("every event delivered", () => accepted.every((each) => seen.has(each)), 180_000);
  const deliveredAfter = seconds();
  await until("one sender again", async () => (await wanted()) === 1 && (await ready()) === 1, 180_000);
  const oneAfter = seconds();
  const repeated = accepted.filter((each) => seen.get(each) > 1).length;
  close();
  figures({ "events lost while KEDA scales": 0, "silent repeats while KEDA scales": silentRepeats() }, [
    "KEDA: three senders ready after",
    readyAfter,
    "s",
  ]);
  must(failed.length === 0, `each of ${sent} events is accepted (${failed.length} are not: ${failed[0]?.kind})`);
  must(silentRepeats() === 0, `each repeat says that it may be one (${silentRepeats()} do not)`);
  say(
    `KEDA, ${perSecond} events/s for ${emittedFor} s: three senders wanted after ${wantedAfter} s, ready after ${readyAfter} s with ${waiting} ` +
      `deliveries waiting, all delivered after ${deliveredAfter} s, one sender after ${oneAfter} s; ${accepted.length} events, 0 lost, ` +
      `${repeated} delivered more than once, 0 silent repeats`,
  );
  await paused();
  await upgrade();
  must((await kubectl("get", "scaledobject", "-o", "name")) === "", "a release without KEDA has no ScaledObject");
}

/** Checks docs/operations/restore.md: KEDA starts a deployment that an operator scaled to 0, unless KEDA is paused. */
async function paused() {
  const mark = "autoscaling.keda.sh/paused";
  await kubectl("annotate", "scaledobject", "--all", `${mark}=true`);
  await kubectl("wait", "--for=condition=Paused", "scaledobject", "--all", "--timeout=60s");
  await kubectl("scale", "deployment/muster-webhook-sender", "--replicas=0");
  // It looks every 30 s.
  await sleep(40_000);
  must((await wanted()) === 0, "a paused KEDA leaves a stopped deployment alone");
  await kubectl("annotate", "scaledobject", "--all", `${mark}-`);
  await until("KEDA starts a stopped deployment", async () => (await wanted()) === 1, 90_000);
  say("KEDA starts a deployment that was stopped; paused by its annotation, it does not");
}
