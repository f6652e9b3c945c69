import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Cluster, ownCluster } from "../support/cluster.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { newOrganization, newPartner, signedInAs } from "../support/users.ts";

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

it("one trace leads from a sign-in over RPC, SQL, outbox and JetStream to the attempt of a webhook", async () => {
  const partnerId = await newPartner(cluster);
  const orgId = await newOrganization(cluster, partnerId);
  const { api } = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  const hook = await api.call("POST", "/webhooks", { name: "Traced", url: receiver.url, events: ["user.login"] });
  expect(hook.status).toBe(201);
  await signedInAs(cluster, "org-admin", { partnerId, orgId });

  const attempt = await until(
    "the span of the attempt",
    () => collector.spans.find(({ name }) => name === "webhook attempt"),
    60_000,
  );
  const inTrace = () => collector.spans.filter(({ trace }) => trace === attempt.trace);
  /** From the attempt up to the request, each span the child of the next. */
  const path = [attempt];
  for (let at = attempt; at.parent !== ""; ) {
    const parent = await until("a parent", () => inTrace().find(({ span }) => span === at.parent), 30_000);
    path.push(parent);
    at = parent;
  }
  const rpc = /: muster\.identity\.v1\.\w+\/\w+$/;
  expect(path.map(({ service, name }) => `${service}: ${name}`)).toEqual([
    "muster-webhook-dispatcher: webhook attempt",
    "muster-webhook-dispatcher: process webhook-matcher",
    "muster-identity: publish events",
    expect.stringMatching(rpc),
    expect.stringMatching(rpc),
    expect.stringMatching(/^muster-gateway: POST \/api\/v1\/auth\//),
  ]);
  expect(path.map(({ service }) => service).slice(3)).toEqual(["muster-identity", "muster-gateway", "muster-gateway"]);
  const statements = inTrace().filter(({ service, kind }) => service === "muster-identity" && kind === 3);
  expect(statements.map(({ name }) => name)).toEqual(expect.arrayContaining(["INSERT", "COMMIT"]));
}, 120_000);

it("a test delivery's attempt is in the trace of the request that asked for it", async () => {
  const partnerId = await newPartner(cluster);
  const orgId = await newOrganization(cluster, partnerId);
  const { api } = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  const hook = await api.call("POST", "/webhooks", { name: "Tested", url: receiver.url, events: ["user.login"] });
  expect((await api.call("POST", `/webhooks/${hook.body.id}/test`, {})).status).toBeLessThan(300);
  const request = await until(
    "the span of the request",
    () => collector.spans.find(({ name }) => name === "POST /api/v1/webhooks/:id/test"),
    60_000,
  );
  await until(
    "the span of its attempt",
    () => collector.spans.find(({ name, trace }) => name === "webhook attempt" && trace === request.trace),
    60_000,
  );
}, 120_000);
