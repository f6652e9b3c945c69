import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { enrollTotp, newOrganization, newPartner, signedInAs } from "../support/users.ts";

let cluster: Cluster;
let admin: Api;
let orgId: string;
beforeAll(async () => {
  cluster = await sharedCluster();
  const partnerId = await newPartner(cluster);
  orgId = await newOrganization(cluster, partnerId);
  const user = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  await enrollTotp(user);
  admin = user.api;
}, 180_000);

const event = (change: object = {}) => ({
  id: randomUUID(),
  action: "custom.invoice.approve",
  resource: { type: "invoice", id: "2026-0042", name: "Invoice 42" },
  ...change,
});
async function keyWith(scopes: string[]) {
  const { status, body } = await admin.call("POST", "/api-keys", { orgId, name: "Billing", scopes });
  expect(status).toBe(201);
  return { id: String(body.id), headers: { "X-API-Key": String(body.key) } };
}
const appendAs = (headers: Record<string, string>, body: object) =>
  api(cluster).call("POST", "/audit-logs/events", body, headers);

describe("own audit events", () => {
  it("are rows of the organization's chain by the key that sent them, with the actor whom it claims", async () => {
    const { id: keyId, headers } = await keyWith(["audit:append"]);
    const sent = event({ claimedActor: { name: "Ada", id: "u-17" }, details: { amount: "120.00" } });
    const answered = await appendAs(headers, { events: [sent] });
    expect([answered.status, answered.body]).toEqual([202, { ids: [sent.id], repeated: 0 }]);
    const row = await until("the row", async () => {
      const { status, body } = await admin.call("GET", `/audit-logs/logs/${sent.id}`);
      return status === 200 ? body : null;
    });
    expect(row).toMatchObject({
      action: "custom.invoice.approve",
      actorType: "api_key",
      user: { id: keyId },
      details: { amount: "120.00", claimedActor: { name: "Ada", id: "u-17" } },
    });
    expect((await appendAs(headers, { events: [sent] })).body).toEqual({ ids: [sent.id], repeated: 1 });
    const verified = await admin.call("POST", "/audit-logs/verify", { orgId });
    const job = await until("the verification", async () => {
      const { body } = await admin.call("GET", `/audit-logs/verify/${verified.body.id}`);
      return body.status === "done" ? body : null;
    });
    expect((job.verdicts as { verdict: string }[]).map(({ verdict }) => verdict)).toEqual(["OK", "UNPROTECTED_TAIL"]);
    for (const report of ["security-events", "compliance"]) {
      const { body } = await admin.call("GET", `/audit-logs/reports/${report}`);
      expect(JSON.stringify(body)).not.toContain("custom.");
    }
  }, 120_000);

  it.each([[["*"]], [["audit:read"]]])("are refused to a key with %j", async (scopes) => {
    const { headers } = await keyWith(scopes);
    const { status, body } = await appendAs(headers, { events: [event()] });
    expect([status, body.code]).toEqual([403, "insufficient_scope"]);
  });

  it.each<[string, object, string]>([
    ["an action of the platform", { action: "user.login" }, "events.0.action"],
    ["a time in the past", { timestamp: "2020-01-01" }, "events.0.timestamp"],
    ["no resource", { resource: undefined }, "events.0.resource"],
    ["a claimed actor in its details", { details: { claimedActor: { name: "Ada" } } }, "events.0.details"],
  ])("are refused with %s, by the name of the field", async (_, change, field) => {
    const { status, body } = await admin.call("POST", "/audit-logs/events", { events: [event(change)] });
    expect([status, Object.keys((body.details as { fieldErrors: object }).fieldErrors)]).toEqual([400, [field]]);
  });
});
