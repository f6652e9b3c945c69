import { createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { enroller } from "../support/enroller.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, operator, signedInAs } from "../support/users.ts";

type Delivery = { id: string; status: string; attempt: number; eventId: string; responseStatus: number | null };

let cluster: Cluster;
let receiver: Receiver;
let partnerId: string;
let orgId: string;
let admin: Api;
beforeAll(async () => {
  cluster = await sharedCluster();
  receiver = await startReceiver(cluster);
  partnerId = await newPartner(cluster);
  orgId = await newOrganization(cluster, partnerId);
  admin = (await signedInAs(cluster, "org-admin", { partnerId, orgId })).api;
}, 180_000);
afterAll(() => receiver?.close());

async function newWebhook(change: object = {}, by = admin): Promise<string> {
  const wanted = { name: "Hook", url: receiver.url, events: ["*"], ...change };
  const { status, body } = await by.call("POST", "/webhooks", wanted);
  if (status !== 201) throw new Error(`POST /webhooks answered ${status}: ${JSON.stringify(body)}`);
  return String(body.id);
}

const deliveriesOf = async (webhookId: string, query = "") =>
  (await admin.call("GET", `/webhooks/${webhookId}/deliveries${query}`)).body.data as Delivery[];

const delivered = (webhookId: string) =>
  until(
    "a delivered delivery",
    async () => (await deliveriesOf(webhookId)).find(({ status }) => status === "delivered") ?? null,
    30_000,
  );

const receivedFor = (webhookId: string) =>
  receiver.received.filter(
    ({ body }) => (JSON.parse(body) as { data: { webhookId?: string } }).data.webhookId === webhookId,
  );

describe("a webhook", () => {
  it("is created, tested, and shows the request, the delivery and its statistics", async () => {
    const secret = "s3cret of the receiver";
    const headers = [{ key: "X-Team", value: "ops" }];
    const created = await admin.call("POST", "/webhooks", {
      name: "To the ticket desk",
      url: receiver.url,
      secret,
      events: ["device.online", "device.offline"],
      headers,
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      orgId,
      name: "To the ticket desk",
      url: receiver.url,
      hasSecret: true,
      secretStrength: "strong",
      events: ["device.online", "device.offline"],
      headers: [{ key: "X-Team", value: "***" }],
      status: "active",
      retryPolicy: null,
      retrySchedule: "standard",
      successCount: 0,
      failureCount: 0,
      lastDeliveryAt: null,
      lastSuccessAt: null,
    });
    expect(JSON.stringify(created.body)).not.toContain(secret);
    const id = String(created.body.id);

    const tested = await admin.call("POST", `/webhooks/${id}/test`);
    expect([tested.status, tested.body]).toEqual([
      202,
      {
        message: "Test delivery queued",
        delivery: { id: expect.any(String), webhookId: id, status: "pending", event: "webhook.test", attempt: 0 },
      },
    ]);
    const delivery = await delivered(id);
    const [request] = receivedFor(id);
    const seconds = request?.headers["x-service-signature-timestamp"];
    expect(request?.headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "Service-Webhooks/1.0",
      "x-service-delivery-id": delivery.id,
      "x-service-event-id": delivery.eventId,
      "x-service-event-type": "webhook.test",
      "x-service-timestamp": expect.stringMatching(/^\d{13}$/),
      "x-service-signature": `sha256=${createHmac("sha256", secret).update(`${seconds}.${request?.body}`).digest("hex")}`,
      "x-team": "ops",
    });
    expect(JSON.parse(request?.body ?? "")).toMatchObject({
      id: delivery.eventId,
      type: "webhook.test",
      orgId,
      data: { message: expect.any(String), timestamp: expect.any(String), webhookId: id },
    });
    const one = await admin.call("GET", `/webhooks/${id}/deliveries/${delivery.id}`);
    expect(one.body).toMatchObject({ status: "delivered", attempt: 1, responseStatus: 200, responseBody: "ok" });
    expect(one.body.attempts).toMatchObject([{ number: 1, responseStatus: 200, interrupted: false, errorCode: null }]);
    const shown = await admin.call("GET", `/webhooks/${id}`);
    expect(shown.body.deliveryStats).toEqual({
      total: 1,
      pending: 0,
      delivered: 1,
      failed: 0,
      retrying: 0,
      lastDeliveredAt: expect.any(String),
    });
    expect(shown.body).toMatchObject({ successCount: 1, failureCount: 0, lastDeliveryAt: expect.any(String) });
  }, 60_000);

  it("gets the events of its organization that it subscribed to, each once however often it is emitted", async () => {
    const siblingOrg = await newOrganization(cluster, partnerId);
    const sibling = (await signedInAs(cluster, "org-admin", { partnerId, orgId: siblingOrg })).api;
    const mine = await newWebhook({ events: ["alert.triggered"] });
    const theirs = await newWebhook({ events: ["*"] }, sibling);
    const id = randomUUID();
    const event = { type: "alert.triggered", id, data: { severity: "high" } };
    for (let i = 0; i < 2; i++) {
      const answered = await admin.call("POST", "/events", event);
      expect([answered.status, answered.body]).toEqual([202, { id }]);
    }
    expect((await sibling.call("POST", "/events", event)).status).toBe(202);
    expect((await admin.call("POST", "/events", { ...event, id: randomUUID(), type: "alert.resolved" })).status).toBe(
      202,
    );
    await delivered(mine);
    await until("the sibling's delivery", async () => {
      const { body } = await sibling.call("GET", `/webhooks/${theirs}/deliveries`);
      return (body.data as Delivery[]).some(({ status }) => status === "delivered");
    });
    const own = await deliveriesOf(mine);
    expect(own).toMatchObject([{ eventId: id, event: "alert.triggered", payload: { severity: "high" } }]);
    const both = receiver.received.filter(({ headers }) => headers["x-service-event-id"] === id);
    expect(both.map(({ body }) => (JSON.parse(body) as { orgId: string }).orgId).sort()).toEqual(
      [orgId, siblingOrg].sort(),
    );
  }, 60_000);

  it("gets data and a test's payload as they were posted, which its list and each record show", async () => {
    const own = await newOrganization(cluster, partnerId);
    const by = (await signedInAs(cluster, "org-admin", { partnerId, orgId: own })).api;
    const id = await newWebhook({ secret: "s3cret of the receiver" }, by);
    const data = String.raw`{"n": 12345678901234567890, "one":1.0,	"zero":-0, "b":1,"2":2,"1":1, "a":"\u00e9\/é"}`;
    const eventId = randomUUID();
    // The last member of a repeated name counts, and names may be written with escapes.
    const posted = String.raw`{"data":{"n":[{}]}, "type":"alert.triggered","orgId":"${own}","id":"${eventId}","d\u0061ta": ${data} }`;
    expect((await by.call("POST", "/events", posted)).status).toBe(202);
    expect((await by.call("POST", `/webhooks/${id}/test`, `{"payload": ${data}}`)).status).toBe(202);
    const ofWebhook = () => receiver.received.filter(({ body }) => body.endsWith(`,"data":${data}}`));
    await until("both requests", () => ofWebhook().length === 2, 30_000);
    for (const { headers, body } of ofWebhook()) {
      const input = `${headers["x-service-signature-timestamp"]}.${body}`;
      const hex = createHmac("sha256", "s3cret of the receiver").update(input).digest("hex");
      expect(headers["x-service-signature"]).toBe(`sha256=${hex}`);
    }
    const list = await by.call("GET", `/webhooks/${id}/deliveries`);
    expect(list.text.split(`"payload":${data}`)).toHaveLength(3);
    const [delivery] = list.body.data as Delivery[];
    const one = await by.call("GET", `/webhooks/${id}/deliveries/${delivery?.id}`);
    expect(one.text).toContain(`"payload":${data}`);
    const me = (await by.call("GET", "/auth/me")).body;
    expect(one.body).toMatchObject({ source: "api", postedBy: { type: "user", id: me.id } });
    for (const { headers } of ofWebhook()) expect(headers["x-service-event-source"]).toBe("api");
    const nested = `{"type":"alert.triggered","orgId":"${own}","data":${"[".repeat(40)}${"]".repeat(40)},"data":{}}`;
    expect(await by.call("POST", "/events", nested)).toMatchObject({
      status: 400,
      body: { code: "validation_failed", details: { formErrors: ["Nested deeper than 32 levels"] } },
    });
  });

  it("is changed, paused with its queue kept, and goes on when it is active again", async () => {
    const id = await newWebhook({ headers: [{ key: "X-Key", value: "kept" }], secret: "one" });
    const paused = await admin.call("PATCH", `/webhooks/${id}`, {
      status: "paused",
      headers: [
        { key: "X-Key", value: "***" },
        { key: "X-New", value: "new" },
      ],
      secret: null,
    });
    expect(paused.body).toMatchObject({ status: "paused", hasSecret: false });
    const bare = await newWebhook({ headers: null });
    await admin.call("PATCH", `/webhooks/${bare}`, { headers: [{ key: "X-Key", value: "a" }] });
    expect((await admin.call("PATCH", `/webhooks/${bare}`, { headers: null })).body.headers).toEqual([]);
    expect((await admin.call("POST", `/webhooks/${id}/test`)).status).toBe(202);
    const filtered = await admin.call("GET", `/webhooks?status=paused`);
    expect((filtered.body.data as { id: string }[]).map((each) => each.id)).toContain(id);
    expect(await deliveriesOf(id, "?status=pending")).toHaveLength(1);
    expect(receivedFor(id)).toEqual([]);
    await admin.call("PATCH", `/webhooks/${id}`, { status: "active" });
    await delivered(id);
    const [request] = receivedFor(id);
    expect(request?.headers).toMatchObject({ "x-key": "kept", "x-new": "new" });
    expect(request?.headers["x-service-signature"]).toBeUndefined();
  }, 60_000);

  it("is removed with its deliveries when it is deleted", async () => {
    const id = await newWebhook();
    await admin.call("POST", `/webhooks/${id}/test`);
    await delivered(id);
    const removed = await admin.call("DELETE", `/webhooks/${id}`);
    expect([removed.status, removed.body]).toEqual([200, { success: true }]);
    for (const path of ["", "/deliveries"]) {
      const answered = await admin.call("GET", `/webhooks/${id}${path}`);
      expect([answered.status, answered.body.code]).toEqual([404, "webhook_not_found"]);
    }
  }, 60_000);

  it("is refused with every error of its body at once", async () => {
    const headers = [{ key: "not a name", value: "ü" }];
    const wanted = { name: "", url: "nonsense", secret: "ü", events: ["*", "device.online"], headers };
    const { status, body } = await admin.call("POST", "/webhooks", wanted);
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    const { fieldErrors } = body.details as { fieldErrors: Record<string, string[]> };
    expect(fieldErrors).toEqual({
      name: [expect.any(String)],
      url: ["Invalid webhook URL: not_a_url"],
      secret: ["At most 512 printable ASCII characters"],
      events: ['"*" stands alone'],
      "headers.0.key": ["Not a header name"],
      "headers.0.value": ["At most 2,000 ASCII characters"],
    });
  });

  it("is refused with a reason when its URL is not public https", async () => {
    const refusals: [url: string, reason: string][] = [
      ["http://example.com/hook", "not_https"],
      ["https://localhost/hook", "hostname_not_allowed"],
      ["https://printer.local/hook", "hostname_not_allowed"],
      ["https://127.0.0.1/", "address_not_public"],
      ["https://2130706433/", "address_not_public"],
      ["https://0177.0.0.1/", "address_not_public"],
      ["https://0x7f.1/", "address_not_public"],
      ["https://127.1/", "address_not_public"],
      ["https://017700000001/", "address_not_public"],
      ["https://[::ffff:10.0.0.1]/", "address_not_public"],
      ["https://[::10.0.0.1]/", "address_not_public"],
      ["https://[2002:a00:1::]/", "address_not_public"],
      ["https://[64:ff9b::169.254.169.254]/", "address_not_public"],
      ["https://user:pass@169.254.169.254/latest", "address_not_public"],
      ["https://192.168.0.1./", "address_not_public"],
      ["https://\uff11\uff10.0.0.1/", "address_not_public"],
      ["https://example.com:25/hook", "port_not_allowed"],
      ["https://8.8.8.8:6667/hook", "port_not_allowed"],
      ["nonsense", "not_a_url"],
      ["ftp://example.com/hook", "not_https"],
    ];
    for (const [url, reason] of refusals) {
      const { status, body } = await admin.call("POST", "/webhooks", { name: "Hook", url, events: ["*"] });
      expect([url, status, body.error, body.code, body.reason]).toEqual([
        url,
        400,
        "Invalid webhook URL",
        "invalid_webhook_url",
        reason,
      ]);
    }
    const id = await newWebhook();
    const changed = await admin.call("PATCH", `/webhooks/${id}`, { url: "https://10.0.0.1/" });
    expect([changed.status, changed.body.code]).toEqual([400, "invalid_webhook_url"]);
    expect((await admin.call("GET", `/webhooks/${id}`)).body.url).toBe(receiver.url);
  });

  it("with a new origin requires the secret and header values again, and never sends the old ones there", async () => {
    const stored = { secret: "s3cret of the receiver", headers: [{ key: "X-Team", value: "ops" }] };
    const id = await newWebhook(stored);
    const url = "https://1.1.1.1/";
    const refused = await admin.call("PATCH", `/webhooks/${id}`, { url, headers: [{ key: "X-Team", value: "***" }] });
    expect([refused.status, refused.body.code]).toEqual([400, "validation_failed"]);
    const { fieldErrors } = refused.body.details as { fieldErrors: object };
    expect(Object.keys(fieldErrors)).toEqual(["secret", "headers.0.value"]);
    expect((await admin.call("GET", `/webhooks/${id}`)).body.url).toBe(receiver.url);
    const changed = await admin.call("PATCH", `/webhooks/${id}`, { url, secret: "another", headers: [] });
    expect([changed.status, changed.body.url]).toEqual([200, url]);
  });

  it("is tested at most ten times per minute, then 429 names the time to wait", async () => {
    const id = await newWebhook();
    for (let n = 0; n < 10; n++) expect((await admin.call("POST", `/webhooks/${id}/test`)).status).toBe(202);
    const { status, body, headers } = await admin.call("POST", `/webhooks/${id}/test`);
    expect([status, body.code, body.limit]).toEqual([429, "rate_limited", 10]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("refuses unknown events, reserved headers and empty changes, each with its own code", async () => {
    const base = { name: "Hook", url: receiver.url, events: ["*"] };
    const cases: [change: object, status: number, code: string][] = [
      [{ events: ["device.exploded"] }, 400, "unknown_event_type"],
      [{ events: ["webhook.test"] }, 400, "unknown_event_type"],
      [{ events: [] }, 400, "validation_failed"],
      [{ headers: [{ key: "X-Service-Signature", value: "x" }] }, 400, "validation_failed"],
      [{ headers: [{ key: "Host", value: "x" }] }, 400, "validation_failed"],
      [{ headers: [{ key: "X-A", value: "***" }] }, 400, "validation_failed"],
      [{ headers: [{ key: "X-A", value: "a\r\nX-B: b" }] }, 400, "validation_failed"],
    ];
    for (const [change, status, code] of cases) {
      const answered = await admin.call("POST", "/webhooks", { ...base, ...change });
      expect([change, answered.status, answered.body.code]).toEqual([change, status, code]);
    }
    const id = await newWebhook();
    const empty = await admin.call("PATCH", `/webhooks/${id}`, { colour: "red" });
    expect([empty.status, empty.body.error]).toEqual([400, "No updates provided"]);
    const events = await admin.call("GET", "/webhooks/event-types");
    expect(events.body.data).toHaveLength(32);
    expect(events.body.data?.[1]).toMatchObject({
      type: "device.online",
      group: "device",
      description: "A device that was not online has sent a heartbeat.",
      source: "platform",
      example: { type: "device.online", orgId: expect.any(String), data: { hostname: "web-01", status: "online" } },
    });
    const test = await admin.call("POST", "/events", { type: "webhook.test", data: {} });
    expect([test.status, test.body.code]).toEqual([400, "unknown_event_type"]);
    const retried = await admin.call("POST", `/webhooks/${id}/retry/${randomUUID()}`);
    expect([retried.status, retried.body.code]).toEqual([404, "delivery_not_found"]);
  });

  it("needs an organization from partner and system callers", async () => {
    const partner = (await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" })).api;
    for (const by of [partner, await operator(cluster)]) {
      const answers = [
        await by.call("GET", "/webhooks"),
        await by.call("POST", "/webhooks", { name: "Hook", url: receiver.url, events: ["*"] }),
      ];
      for (const { status, body } of answers) {
        expect([status, body.error, body.code]).toEqual([
          400,
          "Organization context required",
          "organization_context_required",
        ]);
      }
      const id = await newWebhook({ orgId }, by);
      expect((await by.call("GET", `/webhooks/${id}`)).body.orgId).toBe(orgId);
      const listed = (await by.call("GET", "/webhooks/all?limit=100")).body.data as { id: string }[];
      expect(listed.map((each) => each.id)).toContain(id);
      expect((await by.call("GET", "/webhooks/dead-letters")).status).toBe(200);
    }
    expect((await api(cluster).call("GET", "/webhooks")).status).toBe(401);
  });

  it("is found by a part of its name or of its address", async () => {
    const own = await newOrganization(cluster, partnerId);
    const by = (await signedInAs(cluster, "org-admin", { orgId: own })).api;
    const made = async (name: string, path: string) => {
      const { body } = await by.call("POST", "/webhooks", { name, url: `${receiver.url}${path}`, events: ["*"] });
      return String(body.id);
    };
    const [tickets, pager] = [await made("Tickets", "/one"), await made("Pager", "/two")];
    const found = async (path: string) =>
      ((await by.call("GET", path)).body.data as { id: string }[]).map(({ id }) => id);
    expect(await found("/webhooks?search=TICK")).toEqual([tickets]);
    expect(await found("/webhooks?search=/two")).toEqual([pager]);
    expect(await found("/webhooks/all?search=page")).toEqual([pager]);
    expect(await found("/webhooks?search=%25")).toEqual([]);
  });

  it("shows a weak secret as such, and refuses one with which no library could verify", async () => {
    const id = await newWebhook({ secret: "old" });
    const strength = async () => (await admin.call("GET", `/webhooks/${id}`)).body.secretStrength;
    expect(await strength()).toBe("weak");
    const unusable = ["whsec_", "whsec_MDEyMzQ1Njc4OQ==", "whsec_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_"];
    const requests = [
      ["POST", "/webhooks", { name: "x", url: receiver.url, events: ["*"] }, unusable],
      ["PATCH", `/webhooks/${id}`, {}, unusable],
      ["POST", `/webhooks/${id}/rotate-secret`, {}, [...unusable, ""]],
    ] as const;
    for (const [method, path, body, secrets] of requests) {
      for (const secret of secrets) {
        const { status, body: answer } = await admin.call(method, path, { ...body, secret });
        expect([status, path, answer.details]).toMatchObject([
          400,
          path,
          { fieldErrors: { secret: [expect.any(String)] } },
        ]);
      }
    }
    await admin.call("POST", `/webhooks/${id}/rotate-secret`, {});
    expect(await strength()).toBe("strong");
    await admin.call("PATCH", `/webhooks/${id}`, { secret: null });
    expect(await strength()).toBeNull();
  });

  it("signs with both secrets after a rotation", async () => {
    const id = await newWebhook({ secret: "old" });
    const rotated = await admin.call("POST", `/webhooks/${id}/rotate-secret`, {});
    const secret = String(rotated.body.secret);
    expect([rotated.status, rotated.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    expect(secret).toMatch(/^whsec_/);
    expect(Date.parse(String(rotated.body.previousSecretUntil))).toBeGreaterThan(Date.now());
    await admin.call("POST", `/webhooks/${id}/test`);
    await delivered(id);
    const [request] = receivedFor(id);
    const stats = await admin.call("GET", `/webhooks/${id}/stats?hours=1`);
    const buckets = stats.body.buckets as { delivered: number; failed: number; open: number }[];
    expect([stats.body.bucketSeconds, stats.body.countedFrom, buckets.length]).toEqual([300, null, 12]);
    expect(buckets.reduce((sum, { delivered: count }) => sum + count, 0)).toBe(1);
    expect(await deliveriesOf(id, "?answer=2xx&event=webhook.test")).toHaveLength(1);
    expect(await deliveriesOf(id, "?answer=5xx")).toEqual([]);
    const input = `${request?.headers["x-service-signature-timestamp"]}.${request?.body}`;
    const hex = (key: string) => `sha256=${createHmac("sha256", key).update(input).digest("hex")}`;
    expect(request?.headers["x-service-signature"]).toBe(hex(secret));
    expect(request?.headers["x-service-signature-previous"]).toBe(hex("old"));
    expect(String(request?.headers["webhook-signature"]).split(" ")).toHaveLength(2);
  }, 60_000);
});

describe("events of the platform", () => {
  it("meet the schemas of the catalogue", async () => {
    const own = await startReceiver(cluster);
    try {
      const tenant = await newOrganization(cluster, partnerId);
      const author = await signedInAs(cluster, "org-admin", { partnerId, orgId: tenant });
      const events = ["device.*", "user.*", "session.*"];
      await newWebhook({ url: own.url, events }, author.api);
      const enroll = await enroller(cluster);
      await enroll(tenant);
      const visitor = await signedInAs(cluster, "org-viewer", { partnerId, orgId: tenant });
      expect((await visitor.api.call("POST", "/auth/logout")).status).toBe(200);
      const types = () => own.received.map(({ headers }) => String(headers["x-service-event-type"]));
      const wanted = ["device.enrolled", "session.login", "session.logout", "user.login", "user.logout"];
      await until("the events", () => wanted.every((type) => types().includes(type)), 30_000);
      const { body } = await author.api.call("GET", "/webhooks/event-types?source=platform");
      const schemas = new Map(
        (body.data as { type: string; schema: object }[]).map((each) => [each.type, each.schema]),
      );
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      for (const { body: sent } of own.received) {
        const { type, data } = JSON.parse(sent) as { type: string; data: unknown };
        expect([type, ajv.validate(schemas.get(type) ?? false, data), ajv.errorsText()]).toEqual([
          type,
          true,
          "No errors",
        ]);
      }
    } finally {
      await own.close();
    }
  }, 60_000);
});
