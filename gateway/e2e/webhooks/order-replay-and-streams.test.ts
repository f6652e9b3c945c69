import { createHmac, createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { agentMaker } from "../support/agent-maker.ts";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { type Received, type Receiver, startReceiver } from "../support/receiver.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import {
  enrollTotp,
  newOrganization,
  newPartner,
  newSite,
  operator,
  signedInAs,
  signInAgain,
} from "../support/users.ts";

const patienceMs = 60_000;
let cluster: Cluster;
let receiver: Receiver;
let tenant: { partnerId: string; orgId: string };
let admin: Api;
beforeAll(async () => {
  cluster = await sharedCluster();
  receiver = await startReceiver(cluster);
  const partnerId = await newPartner(cluster);
  tenant = { partnerId, orgId: await newOrganization(cluster, partnerId) };
  const user = await signedInAs(cluster, "org-admin", tenant);
  await enrollTotp(user);
  admin = user.api;
}, 180_000);
afterAll(() => receiver?.close());

type Envelope = { id: string; type: string; orgId: string; data: Record<string, unknown> };
const envelopeOf = (received: Received) => JSON.parse(received.body) as Envelope;
const ofType = (type: string) => receiver.received.filter((each) => envelopeOf(each).type === type);

async function newWebhook(change: object = {}): Promise<string> {
  const wanted = { name: "Hook", url: receiver.url, events: ["*"], ...change };
  const { status, body } = await admin.call("POST", "/webhooks", wanted);
  if (status !== 201) throw new Error(`POST /webhooks answered ${status}: ${JSON.stringify(body)}`);
  return String(body.id);
}

describe("a webhook over HTTP", () => {
  it("is ordered when configured so, shows its health, and rotates its secret with a grace", async () => {
    const id = await newWebhook({ ordered: true, secret: "old", events: ["patch.failed"] });
    const shown = await admin.call("GET", `/webhooks/${id}`);
    expect(shown.body).toMatchObject({
      ordered: true,
      health: {
        breaker: "closed",
        openUntil: null,
        consecutiveFailures: 0,
        consecutiveFailedDeliveries: 0,
        failingSince: null,
        lastSuccessAt: null,
        lastFailureAt: null,
        oldestDueSeconds: 0,
        nextAttemptAt: null,
        inFlight: 0,
        failedReason: null,
      },
    });
    const changed = await admin.call("PATCH", `/webhooks/${id}`, { ordered: false });
    expect(changed.body.ordered).toBe(false);
    const rotated = await admin.call("POST", `/webhooks/${id}/rotate-secret`, { graceSeconds: 0 });
    expect(rotated.body.previousSecretUntil).toBeNull();
    const refused = await admin.call("POST", `/webhooks/${id}/rotate-secret`, { graceSeconds: -1 });
    expect([refused.status, refused.body.code]).toEqual([400, "validation_failed"]);
  });

  it("signs with a key pair, too, and anybody reads its public keys, two during a rotation", async () => {
    const id = await newWebhook({ secret: "old", events: ["policy.violation"], asymmetricSignature: true });
    expect((await admin.call("GET", `/webhooks/${id}`)).body.asymmetricSignature).toBe(true);
    const keysOf = async (webhookId: string) => {
      const reply = await fetch(`${cluster.url}/.well-known/webhooks/${webhookId}/jwks.json`);
      expect([reply.status, reply.headers.get("cache-control")]).toEqual([200, "public, max-age=300"]);
      return ((await reply.json()) as { keys: JsonWebKey[] }).keys;
    };
    expect(await keysOf(id)).toMatchObject([{ kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig" }]);
    // Of nobody: as a webhook without a key pair.
    expect(await keysOf(tenant.orgId)).toEqual([]);
    const rotated = await admin.call("POST", `/webhooks/${id}/rotate-signing-key`, {});
    expect([rotated.status, typeof rotated.body.previousKeyUntil]).toEqual([200, "string"]);
    await admin.call("POST", "/events", { type: "policy.violation", data: { n: 1 } });
    const { headers, body } = await until("the delivery", () => ofType("policy.violation")[0] ?? null, patienceMs);
    const signed = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
    const [v1, ...v1a] = String(headers["webhook-signature"]).split(" ");
    expect(v1).toMatch(/^v1,/);
    const verified = (await keysOf(id)).map((key, n) => {
      const signature = Buffer.from(v1a[n]?.split(",")[1] ?? "", "base64");
      return verify(null, signed, createPublicKey({ format: "jwk", key }), signature);
    });
    expect(verified).toEqual([true, true]);
    await admin.call("PATCH", `/webhooks/${id}`, { asymmetricSignature: false });
    expect(await keysOf(id)).toEqual([]);
    for (const asymmetricSignature of ["yes", null, 1]) {
      const { status, body: error } = await admin.call("PATCH", `/webhooks/${id}`, { asymmetricSignature });
      expect([status, error.code]).toEqual([400, "validation_failed"]);
    }
  });

  it("gets events of an own type, by a pattern and a filter, which the type's schema has accepted", async () => {
    const name = "custom.order_shipped";
    const schema = { required: ["number"], properties: { number: { type: "integer" } } };
    const wanted = { type: name, description: "Sent.", schema, example: { number: 1 } };
    const made = await admin.call("POST", "/webhooks/event-types", wanted);
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ type: name, source: "custom", schema })]);
    expect((await admin.call("POST", "/webhooks/event-types", wanted)).body.code).toBe("event_type_exists");
    await newWebhook({ events: ["custom.*"], filter: { labels: ["express"] } });
    const post = (data: object) => admin.call("POST", "/events", { type: name, data });
    const refused = await post({ number: "x" });
    expect([refused.status, refused.body.details]).toEqual([
      400,
      { formErrors: [], fieldErrors: { "data.number": ["must be integer"] } },
    ]);
    await post({ number: 1 });
    const { body } = await post({ number: 2, labels: ["express"] });
    await until("the event", () => ofType(name).length > 0, patienceMs);
    expect(ofType(name).map((each) => envelopeOf(each).id)).toEqual([body.id]);
    const listed = await admin.call("GET", "/webhooks/event-types?source=custom");
    expect(listed.body.data).toMatchObject([{ type: name, archived: false, example: { data: { number: 1 } } }]);
    const archived = await admin.call("PATCH", "/webhooks/event-types", { type: name, archived: true });
    expect([archived.status, archived.body.archived]).toEqual([200, true]);
    expect((await post({ number: 1 })).body.code).toBe("unknown_event_type");
    for (const filter of [{}, { siteIds: [] }, { siteIds: ["x"] }, { labels: [""] }, "all"]) {
      const answer = await admin.call("POST", "/webhooks", { name: "x", url: receiver.url, events: ["*"], filter });
      expect([filter, answer.status, answer.body.code]).toEqual([filter, 400, "validation_failed"]);
    }
  });

  it("gets the events of its pause on a replay of what is missing, which a dry run counts", async () => {
    const id = await newWebhook({ events: ["patch.approved"] });
    await admin.call("PATCH", `/webhooks/${id}`, { status: "paused" });
    const posted = await admin.call("POST", "/events", { type: "patch.approved", data: { n: 1 } });
    await admin.call("PATCH", `/webhooks/${id}`, { status: "active" });
    const wanted = { since: "2020-01-01T00:00:00Z", deliveryStatus: "missing" };
    const counted = await admin.call("POST", `/webhooks/${id}/replay`, { ...wanted, dryRun: true });
    expect([counted.status, counted.body]).toEqual([202, { dryRun: true, count: 1, countedUntil: null }]);
    await admin.call("POST", `/webhooks/${id}/replay`, wanted);
    await until("the event", () => ofType("patch.approved").length === 1, patienceMs);
    expect(ofType("patch.approved").map((each) => envelopeOf(each).id)).toEqual([posted.body.id]);
    const wrong = await admin.call("POST", `/webhooks/${id}/replay`, { ...wanted, dryRun: "yes" });
    expect([wrong.status, wrong.body.code]).toEqual([400, "validation_failed"]);
  });

  it("has a retry schedule, of which nothing else is stored", async () => {
    const own = { delaysSeconds: [60, 3_600], jitterPercent: 10 };
    const id = await newWebhook({ events: ["patch.failed"], retrySchedule: own });
    expect((await admin.call("GET", `/webhooks/${id}`)).body.retrySchedule).toEqual(own);
    const changed = await admin.call("PATCH", `/webhooks/${id}`, { retrySchedule: "extended" });
    expect([changed.status, changed.body.retrySchedule]).toEqual([200, "extended"]);
    const wrong = ["daily", null, 5, {}, { delaysSeconds: [] }, { delaysSeconds: [0] }, { delaysSeconds: [1e300] }];
    for (const retrySchedule of [...wrong, { delaysSeconds: [1], jitterPercent: 21 }]) {
      const { status, body } = await admin.call("PATCH", `/webhooks/${id}`, { retrySchedule });
      const [field = ""] = Object.keys((body.details as { fieldErrors: object } | undefined)?.fieldErrors ?? {});
      expect([retrySchedule, status, field.split(".")[0]]).toEqual([retrySchedule, 400, "retrySchedule"]);
    }
    expect((await admin.call("PATCH", `/webhooks/${id}`, { ordered: true })).status).toBe(400);
  });

  it("sends earlier deliveries again on a replay, and reports its progress", async () => {
    const id = await newWebhook({ events: ["patch.installed"] });
    const sent = [];
    for (let n = 0; n < 3; n++) {
      const answered = await admin.call("POST", "/events", { type: "patch.installed", data: { n } });
      sent.push(String(answered.body.id));
    }
    await until("the deliveries", () => ofType("patch.installed").length === 3, patienceMs);
    await until(
      "their record",
      async () => (await admin.call("GET", `/webhooks/${id}`)).body.successCount === 3,
      patienceMs,
    );
    const none = await admin.call("POST", `/webhooks/${id}/replay`, { since: "2020-01-01" });
    expect([none.status, none.body]).toEqual([
      202,
      expect.objectContaining({
        webhookId: id,
        status: "queued",
        deliveryStatus: "failed",
        events: [],
        queued: 0,
        finishedAt: null,
      }),
    ]);
    const filter = { since: "2020-01-01T00:00:00Z", deliveryStatus: "delivered", events: ["patch.installed"] };
    const { body } = await admin.call("POST", `/webhooks/${id}/replay`, filter);
    const replay = async () => (await admin.call("GET", `/webhooks/${id}/replays/${body.id}`)).body;
    await until("the replay to end", async () => (await replay()).status === "done", patienceMs);
    expect(await replay()).toMatchObject({
      queued: 3,
      skipped: 0,
      outcomes: { pending: 0, retrying: 0, delivered: 3, failed: 0 },
      finishedAt: expect.any(String),
    });
    const twice = ofType("patch.installed").map((each) => envelopeOf(each).id);
    expect(twice.sort()).toEqual([...sent, ...sent].sort());
    const listed = await admin.call("GET", `/webhooks/${id}/replays`);
    expect((listed.body.data as { id: string }[]).map((each) => each.id)).toEqual([body.id, none.body.id]);
    const ended = await admin.call("DELETE", `/webhooks/${id}/replays/${body.id}`);
    expect([ended.status, ended.body]).toEqual([200, { success: true }]);
    expect((await replay()).status).toBe("done");
  }, 120_000);

  it("shows an event by its id with its deliveries, and sends a delivered one again", async () => {
    const id = await newWebhook({ events: ["patch.rollback"] });
    const posted = await admin.call("POST", "/events", { type: "patch.rollback", data: { n: 1.0 } });
    const event = async () => (await admin.call("GET", `/events/${posted.body.id}`)).body;
    type Shown = { id: string; status: string; origin: string; repeats: string | null };
    const deliveries = async () => (await event()).deliveries as Shown[];
    await until("the delivery", async () => (await deliveries())[0]?.status === "delivered", patienceMs);
    expect(await event()).toMatchObject({ type: "patch.rollback", orgId: tenant.orgId, source: "api", data: { n: 1 } });
    const [first] = await deliveries();
    const path = `/webhooks/${id}/deliveries/${first?.id}`;
    const resent = await admin.call("POST", `${path}/resend`);
    expect([resent.status, resent.body.delivery]).toEqual([202, expect.objectContaining({ status: "pending" })]);
    await until("the second request", () => ofType("patch.rollback").length === 2, patienceMs);
    const [one, two] = ofType("patch.rollback").map(({ headers }) => headers["webhook-id"]);
    expect(two).toBe(one);
    const listed = await admin.call("GET", `/events/${posted.body.id}/deliveries`);
    expect((listed.body.data as Shown[]).map(({ origin, repeats }) => [origin, repeats])).toEqual([
      ["resend", first?.id],
      ["event", null],
    ]);
    const filtered = await admin.call("GET", `/webhooks/${id}/deliveries?eventId=${posted.body.id}`);
    expect(filtered.body.data).toHaveLength(2);
    const events = await admin.call("GET", "/events?type=patch.rollback");
    expect(events.body.data).toMatchObject([{ id: posted.body.id }]);
    for (const bad of ["/events?from=x", "/events?type=nothing", "/events/x", `/webhooks/${id}/deliveries?eventId=x`]) {
      expect([bad, (await admin.call("GET", bad)).body.code]).toEqual([bad, "validation_failed"]);
    }
    const missing = await admin.call("GET", `/events/${tenant.orgId}`);
    expect([missing.status, missing.body.code]).toEqual([404, "event_not_found"]);
  });

  it("gets what devices do and who signs in and out of its organization, and of no other", async () => {
    const siteId = await newSite(cluster, tenant.orgId);
    await newWebhook({ name: "Everything" });
    const { api: agent, deviceId } = await (await agentMaker(cluster))({ ...tenant, siteId });
    expect((await agent.call("POST", `/agents/${deviceId}/heartbeat`, { agentVersion: "1.0.0" })).status).toBe(200);
    expect((await admin.call("PATCH", `/devices/${deviceId}`, { hostname: "RENAMED" })).status).toBe(200);
    expect((await admin.call("DELETE", `/devices/${deviceId}`)).status).toBe(200);
    const user = await signedInAs(cluster, "org-viewer", tenant);
    const again = await signInAgain(cluster, user);
    expect((await again.api.call("POST", "/auth/logout", {})).status).toBe(200);
    const elsewhere = { ...tenant, orgId: await newOrganization(cluster, tenant.partnerId) };
    const outsider = await signedInAs(cluster, "org-viewer", elsewhere);

    const about = (type: string, key: string, value: string) =>
      ofType(type).some((each) => envelopeOf(each).data[key] === value && envelopeOf(each).orgId === tenant.orgId);
    for (const type of ["device.enrolled", "device.online", "device.updated", "device.decommissioned"]) {
      await until(`a delivery of ${type}`, () => ofType(type).some((each) => each.body.includes(deviceId)), patienceMs);
    }
    for (const type of ["user.login", "user.logout", "session.login", "session.logout"]) {
      await until(`a delivery of ${type}`, () => about(type, "userId", user.id), patienceMs);
    }
    expect(receiver.received.some(({ body }) => body.includes(outsider.id))).toBe(false);
    // Delivered events have the form that the catalogue shows.
    const { body: catalogue } = await admin.call("GET", "/webhooks/event-types");
    const documented = catalogue.data as { type: string; source: string; example: { data: object } }[];
    const fieldsOf = (data: object) => Object.keys(data).sort();
    for (const { type, example } of documented.filter(({ source }) => source === "platform")) {
      const ours = ofType(type).filter(({ body }) => body.includes(deviceId) || body.includes(user.id));
      for (const fields of ours.map((each) => fieldsOf(envelopeOf(each).data)))
        expect({ type, fields }).toEqual({ type, fields: fieldsOf(example.data) });
    }
  }, 180_000);
});

describe("people limited to some sites", () => {
  it("read webhooks, but no deliveries: those contain devices at every site and sign-ins", async () => {
    const id = await newWebhook({ events: ["patch.failed"] });
    const tested = await admin.call("POST", `/webhooks/${id}/test`);
    const { id: deliveryId } = tested.body.delivery as { id: string };
    const siteIds = [await newSite(cluster, tenant.orgId)];
    const { api: limited } = await signedInAs(cluster, "org-admin", { ...tenant, siteIds });
    expect((await limited.call("GET", `/webhooks/${id}`)).status).toBe(200);
    for (const path of [`${id}/deliveries`, `${id}/deliveries/${deliveryId}`, "dead-letters"]) {
      expect((await admin.call("GET", `/webhooks/${path}`)).status).toBe(200);
      const { status, body } = await limited.call("GET", `/webhooks/${path}`);
      expect([status, body.code]).toEqual([403, "site_restricted"]);
    }
  });
});

describe("a stream of audit rows", () => {
  it("brings the rows of the organization to a webhook, signed and in order, and is paused and ended", async () => {
    const wanted = { name: "SIEM", type: "webhook", url: receiver.url, from: "start" };
    for (const unusable of ["", "whsec_", "whsec_MDEyMzQ1Njc4OQ=="]) {
      const { status, body } = await admin.call("POST", "/audit-logs/streams", { ...wanted, secret: unusable });
      expect([status, body.details]).toMatchObject([400, { fieldErrors: { secret: [expect.any(String)] } }]);
    }
    const created = await admin.call("POST", "/audit-logs/streams", wanted);
    expect([created.status, created.headers.get("cache-control")]).toEqual([201, "private, no-store"]);
    const { id, secret, ...shown } = created.body as { id: string; secret: string; orgId: string };
    expect(shown).toMatchObject({
      orgId: tenant.orgId,
      name: "SIEM",
      type: "webhook",
      url: receiver.url,
      secretStrength: "strong",
      status: "active",
    });
    const stream = async () => (await admin.call("GET", `/audit-logs/streams/${id}`)).body;
    const batches = () =>
      ofType("audit.rows").filter((each) => (envelopeOf(each).data as { streamId: string }).streamId === id);
    const rows = () =>
      batches().flatMap((each) => (envelopeOf(each).data as { rows: { seq: number; action: string }[] }).rows);
    await until(
      "the row about its creation",
      () => rows().some(({ action }) => action === "audit.stream.create"),
      patienceMs,
    );
    expect(rows().map(({ seq }) => seq)).toEqual(rows().map((_, n) => n + 1));
    const [first] = batches();
    const input = `${first?.headers["x-service-signature-timestamp"]}.${first?.body}`;
    expect(first?.headers["x-service-signature"]).toBe(
      `sha256=${createHmac("sha256", secret).update(input).digest("hex")}`,
    );
    expect(first?.headers).toMatchObject({ "x-service-event-type": "audit.rows", "x-service-attempt": "1" });
    await until("the cursor", async () => Number((await stream()).lagRows) === 0, patienceMs);
    const paused = await admin.call("PATCH", `/audit-logs/streams/${id}`, { status: "paused" });
    expect(paused.body).toMatchObject({ status: "paused", consecutiveFailures: 0, lastError: null });
    const listed = await admin.call("GET", "/audit-logs/streams");
    expect(JSON.stringify(listed.body)).not.toContain(secret);
    expect((await admin.call("DELETE", `/audit-logs/streams/${id}`)).body).toEqual({ success: true });
    const gone = await admin.call("GET", `/audit-logs/streams/${id}`);
    expect([gone.status, gone.body.code]).toEqual([404, "audit_stream_not_found"]);
  }, 120_000);

  it("is refused without a second factor, to a URL that is not public, and to a key", async () => {
    const wanted = { name: "SIEM", type: "webhook", url: "https://169.254.169.254/latest" };
    for (const [url, reason] of [
      [wanted.url, "address_not_public"],
      ["https://example.com:22/rows", "port_not_allowed"],
    ]) {
      const refused = await admin.call("POST", "/audit-logs/streams", { ...wanted, url });
      expect([refused.status, refused.body.code, refused.body.reason]).toEqual([400, "invalid_webhook_url", reason]);
    }
    const user = await signedInAs(cluster, "org-admin", tenant);
    const without = await user.api.call("POST", "/audit-logs/streams", { ...wanted, url: receiver.url });
    expect([without.status, without.body.code]).toEqual([403, "mfa_required"]);
    const root = await operator(cluster);
    const key = await root.call("POST", "/api-keys", { orgId: tenant.orgId, name: "Key", scopes: ["*"] });
    const byKey = await api(cluster).call("GET", "/audit-logs/streams", undefined, {
      "x-api-key": String(key.body.key),
    });
    expect([byKey.status, byKey.body.code]).toEqual([403, "user_session_required"]);
  }, 60_000);
});
