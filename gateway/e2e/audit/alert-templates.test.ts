import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import type { Cluster } from "../support/cluster.ts";
import { notificationMails } from "../support/notification-mails.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { entraUser, newDirectory } from "../support/scim.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import {
  enrollTotp,
  newOrganization,
  newPartner,
  newSite,
  roleId,
  signedInAs,
  type TestUser,
} from "../support/users.ts";

/** Within this time an alert is there, by mail and by webhook. */
const promisedMs = 60_000;
let cluster: Cluster;
let receiver: Receiver;
let partnerId: string;
let orgId: string;
let admin: TestUser;
/** Gets mails of every alert here. */
let everyones: TestUser;
beforeAll(async () => {
  cluster = await sharedCluster();
  receiver = await startReceiver(cluster);
  partnerId = await newPartner(cluster);
  orgId = await newOrganization(cluster, partnerId);
  admin = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  everyones = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  await enrollTotp(admin);
  const hook = { name: "Alerts", url: receiver.url, events: ["audit.alert_fired"] };
  expect((await admin.api.call("POST", "/webhooks", hook)).status).toBe(201);
}, 240_000);
afterAll(() => receiver?.close());

type Row = { seq: number; action: string };
type Fired = { data: { alertId: string; template: string | null; count: number; rows: Row[] } };

const firedOf = (alertId: string) =>
  receiver.received.map(({ body }) => (JSON.parse(body) as Fired).data).filter((data) => data.alertId === alertId);

async function alert(body: object): Promise<string> {
  const { status, body: made } = await admin.api.call("POST", "/audit-logs/alerts", { name: randomUUID(), ...body });
  expect([status, made]).toEqual([201, expect.anything()]);
  return String(made.id);
}

async function done(method: string, path: string, body?: object): Promise<string> {
  const { status, body: answer } = await admin.api.call(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(answer)}`);
  return String(answer.id);
}

async function disableProvider(): Promise<void> {
  const id = await done("POST", "/sso/providers", { name: "IdP", type: "saml" });
  await done("POST", `/sso/providers/${id}/status`, { status: "testing" });
  await done("POST", `/sso/providers/${id}/status`, { status: "inactive" });
}

/** What a directory makes has the role that it gives by default. */
async function administratorByDirectory(): Promise<void> {
  const defaultRoleId = await roleId(admin.api, "org-admin");
  const { scim } = await newDirectory(cluster, admin.api, { defaultRoleId });
  expect((await scim("POST", "/Users", entraUser(`${randomUUID()}@example.com`))).status).toBe(201);
}

/** One refused change is one row in a minute, whoever repeats it. */
async function refusedChanges(): Promise<void> {
  const viewer = await signedInAs(cluster, "org-viewer", { partnerId, orgId });
  const paths = ["/orgs/sites", "/device-groups", "/api-keys", "/webhooks", "/enrollment-keys", "/users", "/roles"];
  paths.push("/sso/providers", "/audit-logs/alerts", "/audit-logs/streams", "/directories", "/service-principals");
  for (const path of paths) expect((await viewer.api.call("POST", path, { orgId, name: "Refused" })).status).toBe(403);
}

describe("a ready-made alert", () => {
  it.each<[string, string, () => Promise<unknown>]>([
    ["new-administrator", "user.create", () => signedInAs(cluster, "org-admin", { partnerId, orgId })],
    ["new-administrator", "user.create", administratorByDirectory],
    ["sso-disabled", "sso.provider.status.update", disableProvider],
    [
      "key-with-all-scopes",
      "api_key.create",
      () => done("POST", "/api-keys", { orgId, name: "Everything", scopes: ["*"] }),
    ],
    ["many-refusals", "", refusedChanges],
  ])(
    "%s arrives within a minute, by mail and by webhook, after %s",
    async (template, action, change) => {
      const reader = await signedInAs(cluster, "org-admin", { partnerId, orgId });
      const id = await alert({ template, notify: { webhook: true, mail: [reader.id, everyones.id] } });
      await change();
      const startedMs = Date.now();
      const [fired] = await until("the event", () => (firedOf(id).length > 0 ? firedOf(id) : null), promisedMs);
      const mails = async () => {
        const texts = await notificationMails(cluster, reader.email);
        return texts.length > 0 ? texts : null;
      };
      expect(await until("the mail", mails, promisedMs)).toHaveLength(1);
      expect(Date.now() - startedMs).toBeLessThan(promisedMs);
      expect(fired).toMatchObject({ template, count: action === "" ? expect.any(Number) : 1 });
      if (action !== "") expect(fired?.rows.map((row) => row.action)).toEqual([action]);
      await done("DELETE", `/audit-logs/alerts/${id}`);
    },
    120_000,
  );

  it("is one of many in an hour's one mail to a user", async () => {
    expect(await notificationMails(cluster, everyones.email)).toHaveLength(1);
  });
});

it("an alert of every row reports what users did, and nothing that its notifications did", async () => {
  const reader = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  const signedIn = async () => {
    const { body } = await admin.api.call("GET", `/audit-logs/logs?action=user.login&actorId=${reader.id}`);
    return (body.data ?? []).length > 0;
  };
  await until("the row of the reader's sign-in", signedIn);
  const id = await alert({ query: { action: "." }, notify: { webhook: true, mail: [reader.id] } });
  const rows = () => firedOf(id).flatMap((fired) => fired.rows);
  const sites = () => rows().filter(({ action }) => action === "site.create").length;
  await newSite(cluster, orgId);
  await until("the event", () => sites() === 1, promisedMs);
  await until("the mail", async () => (await notificationMails(cluster, reader.email)).length > 0, promisedMs);
  // What its notifications left in the chain would come before this row.
  await newSite(cluster, orgId);
  await until("the next event", () => sites() === 2, promisedMs);
  expect(rows().map(({ action }) => action)).toEqual(["audit.alert.create", "site.create", "site.create"]);
  await done("DELETE", `/audit-logs/alerts/${id}`);
}, 180_000);
