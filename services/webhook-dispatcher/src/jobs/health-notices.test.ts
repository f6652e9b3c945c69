import { describe, expect, it } from "@jest/globals";
import { createLogger, uuidv7 } from "@muster/kit";
import type { Notification } from "@muster/service";
import { outcome } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { passHealthNotices } from "./health-notices.ts";
import { reportHealth } from "./health-reporter.ts";

const { dispatcher, receiver } = ownDispatcher();

const thresholds = { failingAttempts: 5, unreachableAttempts: 20, slowSeconds: 60 };
const log = createLogger("health-test", "fatal");
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);
const report = (now = new Date()) => reportHealth({ db: dispatcher.database.db, log, now: () => now, thresholds });
const fails = (webhookId: string) =>
  dispatcher.change(
    "UPDATE webhook_endpoint_state SET failed_attempts = 7, failing_since = now() WHERE webhook_id = $1",
    [webhookId],
  );

/** What identity received; the first `failing` calls fail. */
function identity(failing = 0) {
  const received: Notification[] = [];
  let left = failing;
  const notify = async (notification: Notification) => {
    received.push(notification);
    if (left-- > 0) throw new Error("identity is away");
    return "allowed" as const;
  };
  return { received, pass: () => passHealthNotices({ db: dispatcher.database.db, log, notify }) };
}
const of = (received: Notification[], orgId: string) => received.filter((each) => each.orgId === orgId);

describe("mails about the health of a webhook", () => {
  it("go to who made it when its health changes, and after 1, 24 and 72 hours, each once", async () => {
    const { orgId, partnerId, admin } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(admin, receiver);
    await fails(id);
    const { received, pass } = identity();
    for (const hours of [0, 0.5, 1.1, 1.2, 24.1, 30, 72.1, 100]) {
      await Promise.all([report(inHours(hours)), report(inHours(hours))]);
      await report(inHours(hours));
      while ((await pass()) > 0);
    }
    const lines = of(received, orgId).map(({ line }) => line.replace(/^Webhook ".*?" /, "").replace(/:.*/, ""));
    expect(lines).toEqual([
      "is failing, was healthy",
      "has had no success for 1 hour",
      "has had no success for 24 hours",
      "has had no success for 72 hours",
    ]);
    const about = { kind: "webhook_health", permission: "webhooks:read", orgId, partnerId, authorId: null };
    expect(of(received, orgId)[0]).toMatchObject({ ...about, to: [admin.actor.id], link: `/webhooks/${id}` });
    expect(new Set(received.map((each) => each.id)).size).toBe(received.length);
  });

  it("go to chosen users instead, to nobody when none is chosen, and wait for identity under one id", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const [one, two] = [uuidv7(), uuidv7()];
    const chosen = await dispatcher.webhook(admin, receiver, { notifiedUsers: { userIds: [one, two, one] } });
    const none = await dispatcher.webhook(admin, receiver, { notifiedUsers: { userIds: [] } });
    expect(chosen.notifiedUsers?.userIds).toEqual([one, two]);
    await Promise.all([fails(chosen.id), fails(none.id)]);
    await report();
    const { received, pass } = identity(50);
    await pass();
    expect(of(received, orgId).map(({ to }) => to)).toEqual([[one, two]]);
    expect(await pass()).toBe(0);
    await dispatcher.change("UPDATE webhook_health_notices SET next_at = now() - interval '1 second'");
    const again = identity();
    await again.pass();
    expect(of(again.received, orgId)).toEqual(of(received, orgId));
    await again.pass();
    expect(of(again.received, orgId)).toHaveLength(1);
  });

  it("are forgotten after a day without identity", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(admin, receiver);
    await fails(id);
    await report();
    await report(inHours(25));
    const { received, pass } = identity();
    while ((await pass()) > 0);
    expect(of(received, orgId).map(({ line }) => line)).toEqual([expect.stringContaining("no success for 24 hours")]);
  });

  it("are refused for ids that are none, and for more than 20", async () => {
    const { admin } = await dispatcher.organization();
    const wanted = (userIds: string[]) => outcome(dispatcher.webhook(admin, receiver, { notifiedUsers: { userIds } }));
    expect(await wanted(["x"])).toBe("validation_failed notifyUserIds.0");
    expect(await wanted(Array.from({ length: 21 }, () => uuidv7()))).toBe("validation_failed notifyUserIds");
  });
});
