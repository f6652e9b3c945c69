import { describe, expect, it } from "@jest/globals";
import { EgressRefused } from "@muster/egress";
import { uuidv7 } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { outcome, until } from "@muster/testing";
import { eventMessage, eventMessages } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

describe("a webhook that gets a new origin", () => {
  it("keeps neither secret nor header values of the old one, and the change is audited", async () => {
    const { admin } = await dispatcher.organization();
    const change = { secret: "first", headers: [{ key: "X-Token", value: "t" }] };
    const webhook = await dispatcher.webhook(admin, receiver, change);
    const url = dispatcher.urlOf(dispatcher.receivers[1]);
    const update = (wanted: object) =>
      dispatcher
        .webhooks(admin)
        .updateWebhook({ id: webhook.id, updateMask: { paths: Object.keys(wanted) }, change: wanted });
    expect(await outcome(update({ url }))).toBe("validation_failed secret headers");
    const { webhook: same } = await dispatcher.webhooks(admin).getWebhook({ id: webhook.id });
    expect(same?.url).toBe(dispatcher.urlOf(receiver));
    const answer = await update({ url, secret: "second", headers: [{ key: "X-Token", value: "other" }] });
    expect(answer.webhook?.url).toBe(url);
    const audited = await dispatcher.rows(
      "SELECT FROM outbox WHERE position($1::bytea in body) > 0 AND position($2::bytea in body) > 0",
      [Buffer.from("originChanged"), Buffer.from(webhook.id)],
    );
    expect(audited).toHaveLength(1);
  });

  it("does not get user and password of the old URL", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const moved = dispatcher.receivers[1];
    const url = dispatcher.urlOf(receiver).replace("http://", "http://user:pass@");
    const webhook = await dispatcher.webhook(admin, receiver, { url });
    const sender = dispatcher.sender();
    const authorizationAt = async (to: typeof receiver) => {
      const id = uuidv7();
      await dispatcher.match([eventMessage(orgId, { id })]);
      const [request] = await until("the delivery", () => (to.of(id).length > 0 ? to.of(id) : null));
      return request?.headers.authorization;
    };
    expect(await authorizationAt(receiver)).toMatch(/^Basic /);
    const change = { url: dispatcher.urlOf(moved) };
    await dispatcher.webhooks(admin).updateWebhook({ id: webhook.id, updateMask: { paths: ["url"] }, change });
    expect(await authorizationAt(moved)).toBeUndefined();
    await sender.stop();
  });
});

describe("a webhook created under an Idempotency-Key", () => {
  it("is returned to a repeat although its host name no longer resolves: no lookup is made", async () => {
    const { admin } = await dispatcher.organization();
    const wanted = { name: "Hook", url: dispatcher.urlOf(receiver), events: ["*"] };
    const by = dispatcher.webhooks(admin, { idempotencyKey: "once" });
    const made = await by.createWebhook(wanted);
    const { check } = dispatcher.egress;
    dispatcher.egress.check = () => Promise.reject(new EgressRefused("unresolvable"));
    try {
      expect(await by.createWebhook(wanted)).toEqual(made);
      expect(await outcome(by.createWebhook({ ...wanted, name: "Other" }))).toBe("idempotency_conflict");
      expect(await outcome(dispatcher.webhooks(admin).createWebhook(wanted))).toMatch(/^invalid_webhook_url/);
    } finally {
      dispatcher.egress.check = check;
    }
  });
});

describe("limits", () => {
  it("an organization gets no more webhooks than its limit, however many are created concurrently", async () => {
    const { admin } = await dispatcher.organization();
    const wanted = { name: "Hook", url: dispatcher.urlOf(receiver), events: ["*"] };
    const codes = await Promise.all(
      Array.from({ length: 22 }, () => outcome(dispatcher.webhooks(admin).createWebhook(wanted))),
    );
    expect(codes.filter((code) => code === "limit_reached")).toHaveLength(2);
    const { webhooks } = await dispatcher.webhooks(admin).listWebhooks({});
    await dispatcher.webhooks(admin).deleteWebhook({ id: webhooks[0]?.id ?? "" });
    expect(await outcome(dispatcher.webhooks(admin).createWebhook(wanted))).toBe("ok");
  });

  it("a webhook is tested at most five times per minute, then refused with Retry-After", async () => {
    const { admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver);
    const test = () => dispatcher.deliveries(admin).testWebhook({ webhookId: webhook.id });
    for (let n = 0; n < 5; n++) await test();
    const refusal = toAppError(await test().catch((error: unknown) => error));
    expect(refusal).toMatchObject({ code: "rate_limited", facts: { limit: 5 } });
    expect(refusal.retryAfterSeconds).toBeGreaterThan(50);
    expect(refusal.retryAfterSeconds).toBeLessThanOrEqual(60);
    await dispatcher.change("UPDATE webhooks SET tested_at[1] = now() - interval '61 s' WHERE id = $1", [webhook.id]);
    expect(await outcome(test())).toBe("ok");
    expect(await outcome(test())).toBe("rate_limited");
  });

  it("a host gets no more concurrent requests than its limit, over all webhooks and senders; other hosts are served", async () => {
    const hanging = dispatcher.receivers[2];
    hanging.answer(() => undefined);
    const senders = [dispatcher.sender({ hostConcurrency: 10 }), dispatcher.sender({ hostConcurrency: 10 })];
    // Each gets its fair share: it takes several to fill the host.
    for (let n = 0; n < 8; n++) {
      const { orgId, admin } = await dispatcher.organization();
      await dispatcher.webhook(admin, hanging);
      await dispatcher.match(eventMessages(orgId, 20));
    }
    await until("a full host", () => hanging.busiest() >= 10);
    const other = await dispatcher.organization();
    const hook = await dispatcher.webhook(other.admin, receiver, { url: dispatcher.otherUrlOf(receiver) });
    await dispatcher.match(eventMessages(other.orgId, 30));
    await until("deliveries to another host", async () => (await dispatcher.queuedOf(hook.id)) === 0);
    expect(hanging.busiest()).toBe(10);
    hanging.answer((_request, response) => void response.end());
    await Promise.all(senders.map((sender) => sender.stop()));
    // Leases of the requests that hung: they count at the host.
    await dispatcher.change("DELETE FROM webhook_queue");
  });

  it("an organization whose webhooks all hang delays no other one at the same host", async () => {
    const shared = dispatcher.receivers[3];
    shared.answer(({ path }, response) => void (path === "/hangs" ? null : response.end()));
    const url = new URL("/hangs", dispatcher.urlOf(shared)).href;
    const sender = dispatcher.sender({ concurrency: 128, hostConcurrency: 256 });
    const bad = await dispatcher.organization();
    for (let n = 0; n < 8; n++) await dispatcher.webhook(bad.admin, shared, { url });
    await dispatcher.match(eventMessages(bad.orgId, 8));
    await until("the organization's share", () => shared.busiest() === 64);
    const other = await dispatcher.organization();
    const hook = await dispatcher.webhook(other.admin, shared);
    await dispatcher.match(eventMessages(other.orgId, 1));
    await until("the delivery beside them", async () => (await dispatcher.queuedOf(hook.id)) === 0);
    // The 64 of the organization's share, and the other one, none of which waited for another's connection.
    expect(shared.busiest()).toBe(65);
    await sender.stop();
  });
});
