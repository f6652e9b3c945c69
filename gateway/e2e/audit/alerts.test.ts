import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { api } from "../support/client.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { notificationMails } from "../support/notification-mails.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { enrollTotp, newOrganization, newPartner, newSite, signedInAs, type TestUser } from "../support/users.ts";

const patienceMs = 60_000;
const kills = 3;
let cluster: LentCluster;
let receiver: Receiver;
let partnerId: string;
let orgId: string;
let admin: TestUser;
beforeAll(async () => {
  cluster = await lentCluster("killed");
  receiver = await startReceiver(cluster);
  partnerId = await newPartner(cluster);
  orgId = await newOrganization(cluster, partnerId);
  admin = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  await enrollTotp(admin);
  const hooks = [["audit.alert_fired"], ["*"]].map((events, n) =>
    admin.api.call("POST", "/webhooks", { name: `Hook ${n}`, url: receiver.url, events }),
  );
  expect((await Promise.all(hooks)).map(({ status }) => status)).toEqual([201, 201]);
}, lendMs);
afterAll(async () => {
  await receiver?.close();
  await cluster?.giveBack();
});

type Fired = {
  type: string;
  id: string;
  data: { alertId: string; count: number; rows: { seq: number; action: string }[] };
};

const firedOf = (alertId: string) =>
  receiver.received.map(({ body }) => JSON.parse(body) as Fired).filter(({ data }) => data.alertId === alertId);

async function alert(body: object): Promise<string> {
  const reply = await admin.api.call("POST", "/audit-logs/alerts", { name: `Alert ${randomUUID()}`, ...body });
  if (reply.status !== 201) throw new Error(`answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return String(reply.body.id);
}

describe("an audit alert", () => {
  it("reaches its users and webhooks that name its type within a minute, and a link of the mail ends it", async () => {
    const viewer = await signedInAs(cluster, "org-admin", { partnerId, orgId });
    const notify = { webhook: true, mail: [viewer.id] };
    const id = await alert({ template: "new-administrator", notify });
    const startedMs = Date.now();
    await signedInAs(cluster, "org-admin", { partnerId, orgId });
    await until("the event", async () => firedOf(id).length > 0, patienceMs);
    const text = await until(
      "the mail",
      async () => (await notificationMails(cluster, viewer.email))[0] ?? null,
      patienceMs,
    );
    expect(Date.now() - startedMs).toBeLessThan(patienceMs);
    expect(firedOf(id).map(({ type, data }) => [type, data.rows[0]?.action])).toEqual([
      ["audit.alert_fired", "user.create"],
    ]);
    expect(text).toContain("user. create");

    const token = decodeURIComponent(/unsubscribe#token=(\S+)/.exec(text)?.[1] ?? "");
    const ended = await api(cluster).call("POST", "/auth/unsubscribe", { token });
    expect([ended.status, ended.body]).toEqual([200, { success: true }]);
    const choices = (await viewer.api.call("GET", "/auth/notifications")).body.data;
    expect(choices).toContainEqual({ kind: "audit_alert", mail: false });
  });

  it("takes its search from a saved view, and refuses users and views that the caller does not see", async () => {
    const view = { name: "Sites", resource: "audit-logs", query: { action: "site.create" } };
    const viewId = (await admin.api.call("POST", "/saved-views", view)).body.id;
    const notify = { mail: [admin.id] };
    const made = await admin.api.call("POST", "/audit-logs/alerts", { name: "Sites", viewId, notify });
    expect([made.status, made.body.query]).toEqual([201, view.query]);
    const outsider = await signedInAs(cluster, "org-admin", {
      partnerId,
      orgId: await newOrganization(cluster, partnerId),
    });
    const refused = await admin.api.call("POST", "/audit-logs/alerts", {
      name: "Sites",
      viewId,
      notify: { mail: [outsider.id] },
    });
    expect([refused.status, refused.body.details]).toEqual([
      400,
      expect.objectContaining({ fieldErrors: { "notify.mail.0": [expect.any(String)] } }),
    ]);
    const missing = await admin.api.call("POST", "/audit-logs/alerts", { name: "x", viewId: randomUUID(), notify });
    expect([missing.status, missing.body.code]).toEqual([404, "saved_view_not_found"]);
  });

  it("reports each row once while the audit service is killed again and again", async () => {
    const id = await alert({ query: { actions: ["site.create"] }, notify: { webhook: true } });
    let isOver = false;
    let made = 0;
    const making = (async () => {
      while (!isOver) {
        await newSite(cluster, orgId);
        made += 1;
      }
    })();
    for (let n = 0; n < kills; n++) {
      const pid = (await cluster.stack()).services.audit?.pid;
      if (pid) process.kill(pid, "SIGKILL");
      const renewed = async () => {
        const now = (await cluster.stack()).services.audit?.pid;
        return now !== undefined && now !== pid;
      };
      await until("another audit service", renewed, 120_000);
    }
    isOver = true;
    await making;
    const byId = () => new Map(firedOf(id).map((each) => [each.id, each]));
    const counted = () => [...byId().values()].reduce((sum, { data }) => sum + data.count, 0);
    await until("every row to be reported", async () => counted() >= made, patienceMs);
    const seqs = [...byId().values()].flatMap(({ data }) => data.rows.map(({ seq }) => seq));
    expect([counted(), new Set(seqs).size]).toEqual([made, seqs.length]);
  }, 300_000);
});
