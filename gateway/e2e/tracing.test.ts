import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Cluster, ownCluster } from "./cluster.ts";
import { startOtlpReceiver } from "./otlp-receiver.ts";
import { newOrganization, newPartner, signedInAs } from "./people.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

let collector: Awaited<ReturnType<typeof startOtlpReceiver>>;
let cluster: Cluster & { stop(): Promise<void> };
let receiver: Receiver;
beforeAll(async () => {
  collector = await startOtlpReceiver();
  cluster = await ownCluster({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: "1" });
  receiver = await startReceiver(cluster);
}, 180_000);
afterAll(async () => {
  await receiver?.close();
  await cluster?.stop();
  collector?.close();
}, 60_000);

it("one trace leads from the HTTP request over RPC, SQL, outbox and JetStream to the webhook attempt", async () => {
  const partnerId = await newPartner(cluster);
  const orgId = await newOrganization(cluster, partnerId);
  const { api } = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  const hook = await api.call("POST", "/webhooks", { name: "Traced", url: receiver.url, events: ["device.online"] });
  expect(hook.status).toBe(201);
  const emitted = await api.call("POST", "/events", { type: "device.online", orgId, data: { n: 1 } });
  expect(emitted.status).toBe(202);

  const attempt = await until(
    "the span of the attempt",
    () => collector.spans.find(({ name }) => name === "webhook attempt"),
    60_000,
  );
  const inTrace = () => collector.spans.filter(({ trace }) => trace === attempt.trace);
  const root = await until("the span of the request", () => inTrace().find(({ parent }) => parent === ""), 30_000);
  expect(root).toMatchObject({ service: "muster-gateway", name: "POST /api/v1/events", kind: 2 });

  /** From the attempt up to the request, each span the child of the next. */
  const path = [attempt];
  for (let at = attempt; at.parent !== ""; ) {
    const parent = await until("a parent", () => inTrace().find(({ span }) => span === at.parent), 30_000);
    path.push(parent);
    at = parent;
  }
  expect(path.map(({ service, name }) => `${service}: ${name}`)).toEqual([
    "muster-webhook-dispatcher: webhook attempt",
    "muster-webhook-dispatcher: process webhook-matcher",
    "muster-webhook-dispatcher: publish events",
    "muster-webhook-dispatcher: muster.webhook.v1.EventService/Publish",
    "muster-gateway: muster.webhook.v1.EventService/Publish",
    "muster-gateway: POST /api/v1/events",
  ]);
  const statements = inTrace().filter(({ service, kind }) => service === "muster-webhook-dispatcher" && kind === 3);
  expect(statements.map(({ name }) => name)).toEqual(expect.arrayContaining(["INSERT", "COMMIT"]));
}, 120_000);
