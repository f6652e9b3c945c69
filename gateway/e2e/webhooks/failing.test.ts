import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { api } from "../support/client.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { startMailServer } from "../support/mail-server.ts";
import { asDatabaseOwner } from "../support/owner-rows.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { signedInAs, type TestUser } from "../support/users.ts";

/** Health is reported every 15 s, and passed on and mailed every 5 s. */
const patienceMs = 60_000;
let mailServer: Awaited<ReturnType<typeof startMailServer>>;

let cluster: LentCluster;
let receiver: Receiver;
/** Of webhooks that watch the others. */
let watcher: Receiver;
let tenant: Awaited<ReturnType<typeof tenantWithAdmins>>;
let reader: TestUser;
beforeAll(async () => {
  cluster = await lentCluster("signIn");
  mailServer = await startMailServer(cluster.port);
  receiver = await startReceiver(cluster);
  receiver.answer((_received, response) => void response.writeHead(500).end());
  watcher = await startReceiver(cluster);
  tenant = await tenantWithAdmins(cluster);
  reader = await signedInAs(cluster, "org-viewer", { orgId: tenant.orgId });
}, lendMs);
afterAll(async () => {
  await receiver?.close();
  await watcher?.close();
  await cluster?.giveBack();
  await mailServer?.close();
}, 60_000);

/** Makes a webhook for an event type of its own and lets five attempts at it fail. */
async function failing(name: string, notifyUserIds = [reader.id]): Promise<string> {
  const { call } = tenant.admin.api;
  const type = `custom.${name.toLowerCase()}`;
  await call("POST", "/webhooks/event-types", { type, description: "A test." });
  const retrySchedule = { delaysSeconds: [1, 1, 1, 1] };
  const wanted = { name, url: receiver.url, events: [type], retrySchedule, notifyUserIds };
  const made = await call("POST", "/webhooks", wanted);
  expect(made.status).toBe(201);
  expect((await call("POST", "/events", { type, data: {} })).status).toBe(202);
  return String(made.body.id);
}

const healthOf = async (id: string) =>
  ((await reader.api.call("GET", `/webhooks/${id}`)).body.health as { status: string }).status;
const mails = () =>
  mailServer.letters.filter(({ to, raw }) => to === reader.email && raw.includes("Health of webhooks"));
/** Lines that wait for the reader's next mail. */
const waiting = async () => {
  const rows = await asDatabaseOwner(
    cluster,
    "SELECT line FROM identity.notification_lines WHERE user_id = $1 AND mailed_at IS NULL ORDER BY line",
    [reader.id],
  );
  return rows.map(({ line }) => String(line));
};
const passHour = () =>
  asDatabaseOwner(
    cluster,
    `UPDATE identity.notification_choices
     SET due_at = due_at - interval '1 hour', last_mail_at = last_mail_at - interval '1 hour' WHERE user_id = $1`,
    [reader.id],
  );

const changes = () =>
  watcher.received
    .map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, string> })
    .filter(({ type }) => type === "webhook.health_changed");

describe("a change of a webhook's health", () => {
  it("reaches webhooks that name its event, and none by a pattern", async () => {
    for (const events of [["webhook.health_changed"], ["*"], ["webhook.*"]]) {
      const wanted = { name: events.join(), url: watcher.url, events };
      expect((await tenant.admin.api.call("POST", "/webhooks", wanted)).status).toBe(201);
    }
    const id = await failing("Omega", []);
    await until("the event", () => changes().length > 0, patienceMs);
    // Delivered after it, to the webhook that gets every other event.
    const { body } = await tenant.admin.api.call("POST", "/events", { type: "device.online", data: {} });
    await until(
      "a later event",
      () => watcher.received.some((each) => each.body.includes(String(body.id))),
      patienceMs,
    );
    expect(changes().map(({ data }) => [data.webhookId, data.status, data.previousStatus])).toEqual([
      [id, "failing", "healthy"],
    ]);
    const { body: listed } = await tenant.admin.api.call("GET", "/attention");
    expect(listed.data).toContainEqual(
      expect.objectContaining({ kind: "webhook", record: expect.objectContaining({ id, name: "Omega" }) }),
    );
  }, 120_000);
});

describe("mails about failing webhooks", () => {
  it("come at once, then one an hour with a list, until their link ends them", async () => {
    const id = await failing("Alpha");
    const [first] = await until("the first mail", () => (mails().length > 0 ? mails() : null), patienceMs);
    expect(first?.raw).toContain('Webhook "Alpha" is failing, was healthy');
    expect(first?.raw).toContain(`/webhooks/${id}`);
    expect(await healthOf(id)).toBe("failing");

    await Promise.all(["Beta", "Gamma"].map((name) => failing(name)));
    const lines = await until(
      "both lines",
      async () => ((await waiting()).length === 2 ? waiting() : null),
      patienceMs,
    );
    expect(lines).toEqual([
      expect.stringContaining('"Beta" is failing'),
      expect.stringContaining('"Gamma" is failing'),
    ]);
    expect(mails()).toHaveLength(1);
    await passHour();
    const [, second] = await until("the second mail", () => (mails().length > 1 ? mails() : null), patienceMs);
    // Both began to fail at once: either may stand first.
    expect(second?.raw.match(/^- Webhook "\w+" is failing/gm)?.sort()).toEqual([
      '- Webhook "Beta" is failing',
      '- Webhook "Gamma" is failing',
    ]);

    const [, address = ""] = /(http\S+unsubscribe#token=\S+)/.exec(second?.raw ?? "") ?? [];
    const link = new URL(address);
    expect((await fetch(new URL(link.pathname, cluster.url))).headers.get("content-type")).toMatch(/^text\/html/);
    const token = new URLSearchParams(link.hash.slice(1)).get("token");
    expect((await api(cluster).call("POST", "/auth/unsubscribe", { token })).body).toEqual({ success: true });
    const choices = (await reader.api.call("GET", "/auth/notifications")).body.data;
    expect(choices).toContainEqual({ kind: "webhook_health", mail: false });

    const last = await failing("Delta");
    await until("its health", async () => (await healthOf(last)) === "failing", patienceMs);
    const reported = async () => {
      const text = "SELECT reported FROM webhook_dispatcher.webhook_health WHERE webhook_id = $1";
      const [row] = await asDatabaseOwner(cluster, text, [last]);
      const notices = "SELECT FROM webhook_dispatcher.webhook_health_notices WHERE webhook_id = $1";
      return row?.reported === "failing" && (await asDatabaseOwner(cluster, notices, [last])).length === 0;
    };
    await until("its report", reported, patienceMs);
    await passHour();
    expect([await waiting(), mails().length]).toEqual([[], 2]);
  }, 300_000);
});
