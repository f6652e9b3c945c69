import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { portalCapabilities } from "@muster/kit";
import { type Api, api } from "../support/client.ts";
import { newKey } from "../support/keys.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { auditRows, fieldsOf } from "../support/tenant-with-admins.ts";
import { newOrganization, signedInAs } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver(cluster);
}, 60_000);
afterAll(() => receiver?.close());

type Link = { id: string; code: string };

async function newLink(change: object = {}, by: Api["call"] = call): Promise<Link> {
  const { status, body } = await by("POST", "/webhooks/portal-links", { name: "Acme developers", ...change });
  if (status !== 201) throw new Error(`POST /webhooks/portal-links answered ${status}: ${JSON.stringify(body)}`);
  const [page = "", code = ""] = String(body.portalUrl).split("#code=");
  expect(page).toMatch(new RegExp(`/portal/${body.id}$`));
  return { id: String(body.id), code };
}

const exchange = ({ id, code }: Link) => api(cluster).call("POST", `/webhooks/portal-links/${id}/exchange`, { code });

async function opened(change: object = {}, by: Api["call"] = call) {
  const link = await newLink(change, by);
  const { body } = await exchange(link);
  return { ...link, token: String(body.token), portal: api(cluster, String(body.token)) };
}

const status = async (reply: ReturnType<Api["call"]>) => (await reply).status;

describe("a portal link", () => {
  it("opens one session, in which a webhook is made as the link's and not its author's", async () => {
    const { id, portal, token } = await opened({ capabilities: ["manage_webhooks"] });
    const wanted = { name: "Tickets", url: receiver.url, events: ["*"] };
    const made = await portal.call("POST", "/webhooks", wanted);
    expect([made.status, made.body.orgId]).toEqual([201, tenant.orgId]);
    const [row] = await auditRows(tenant.admin.api, tenant.orgId, String(made.body.id), 1);
    expect(row).toMatchObject({ action: "webhook.create", user: { name: "portal: Acme developers" } });
    const { body } = await call("GET", `/audit-logs?orgId=${tenant.orgId}&resourceId=${made.body.id}`);
    expect(JSON.stringify(body)).toContain(id);
    expect(JSON.stringify(body)).not.toContain(token);
    const rows = await auditRows(tenant.admin.api, tenant.orgId, id, 2);
    expect(rows.map(({ action }) => action)).toEqual(["portal_link.create", "portal_link.open"]);
    const { data } = (await call("GET", "/webhooks/portal-links")).body as { data: { id: string; openedAt: string }[] };
    expect(data.find((each) => each.id === id)?.openedAt).toEqual(expect.any(String));
  });

  it("sets no cookie, and its code works once", async () => {
    const link = await newLink();
    const first = await exchange(link);
    expect([first.status, first.headers.get("set-cookie")]).toEqual([200, null]);
    expect(first.headers.get("cache-control")).toBe("no-store");
    const again = await exchange(link);
    expect([again.status, again.body.code]).toEqual([400, "invalid_exchange_code"]);
  });

  it("ends with its revocation before the reply, for every request after it", async () => {
    const { id, portal } = await opened();
    expect(await status(portal.call("GET", "/webhooks"))).toBe(200);
    expect(await status(call("DELETE", `/webhooks/portal-links/${id}`))).toBe(200);
    const after = await portal.call("GET", "/webhooks");
    expect([after.status, after.body.code]).toEqual([401, "session_revoked"]);
  });

  it("ends with the key that created it, and with its author's account", async () => {
    const { key, id } = await newKey(tenant.admin.api, tenant.orgId, { scopes: ["webhooks:write"] });
    const byKey: Api["call"] = (method, path, body) => api(cluster).call(method, path, body, { "x-api-key": key });
    const ofKey = await opened({}, byKey);
    expect(await status(ofKey.portal.call("GET", "/webhooks"))).toBe(200);
    await call("DELETE", `/api-keys/${id}`);
    expect(await status(ofKey.portal.call("GET", "/webhooks"))).toBe(401);

    const author = await signedInAs(cluster, "org-admin", { orgId: tenant.orgId });
    const ofUser = await opened({}, author.api.call);
    expect(await status(ofUser.portal.call("GET", "/webhooks"))).toBe(200);
    // A sign-out leaves it: it is for others, who work after its author has gone home.
    await author.api.call("POST", "/auth/logout");
    expect(await status(ofUser.portal.call("GET", "/webhooks"))).toBe(200);
    const disabled = await call("POST", `/users/${author.id}/disable`);
    expect(disabled.status).toBe(200);
    expect(await status(ofUser.portal.call("GET", "/webhooks"))).toBe(401);
  });

  it("is refused to viewers, to keys whose scope is too small, and to portal sessions", async () => {
    const viewer = await signedInAs(cluster, "org-viewer", { orgId: tenant.orgId });
    const wanted = { name: "A" };
    const code = async (reply: ReturnType<Api["call"]>) => (await reply).body.code;
    expect(await code(viewer.api.call("POST", "/webhooks/portal-links", wanted))).toBe("permission_denied");
    const { key } = await newKey(tenant.admin.api, tenant.orgId, { scopes: ["webhooks:read", "devices:write"] });
    const byKey = api(cluster).call("POST", "/webhooks/portal-links", wanted, { "x-api-key": key });
    expect(await code(byKey)).toBe("insufficient_scope");
    const { portal } = await opened({ capabilities: ["manage_webhooks"] });
    expect(await code(portal.call("POST", "/webhooks/portal-links", wanted))).toBe("not_found");
  });

  it("names the field of what is wrong with it", async () => {
    for (const [field, change] of [
      ["capabilities", { capabilities: ["manage_webhooks"], readOnly: true }],
      ["capabilities.0", { capabilities: ["everything"] }],
      ["expiresInMinutes", { expiresInMinutes: 61 }],
      ["embedOrigins", { embedOrigins: ["https://a.example.com; script-src *"] }],
      ["refreshUrl", { refreshUrl: "javascript:alert(1)" }],
      ["name", { name: "" }],
    ] as const) {
      const { status: answered, body } = await call("POST", "/webhooks/portal-links", { name: "A", ...change });
      expect([answered, fieldsOf(body)]).toEqual([400, [field]]);
    }
  });

  it("reveals a secret to the session that may see it, and to a user, never to an API key", async () => {
    const secret = "s3cret of the portal's webhook";
    const { body } = await call("POST", "/webhooks", { name: "A", url: receiver.url, events: ["*"], secret });
    const path = `/webhooks/${body.id}/reveal-secret`;
    const { portal } = await opened({ capabilities: ["reveal_secrets"], readOnly: true });
    expect((await portal.call("POST", path)).body).toEqual({ secret });
    expect((await call("POST", path)).body).toEqual({ secret });
    expect(await status(portal.call("PATCH", `/webhooks/${body.id}`, { name: "B" }))).toBe(404);
    const { key } = await newKey(tenant.admin.api, tenant.orgId, { scopes: ["*"] });
    const refused = await api(cluster).call("POST", path, undefined, { "x-api-key": key });
    expect(refused.body.code).toBe("user_session_required");
    const viewer = await opened();
    expect(await status(viewer.portal.call("POST", path))).toBe(404);
  });

  it("reads own event types, subscribes to them, and finds nothing of another organization", async () => {
    const { portal } = await opened({ capabilities: portalCapabilities.filter((each) => each !== "reveal_secrets") });
    const own = { type: "custom.portal_order", description: "An order." };
    expect((await call("POST", "/webhooks/event-types", own)).status).toBe(201);
    const { body } = await portal.call("GET", "/webhooks/event-types?source=custom");
    expect((body.data as { type: string }[]).map(({ type }) => type)).toEqual([own.type]);
    const made = await portal.call("POST", "/webhooks", { name: "Own", url: receiver.url, events: [own.type] });
    expect(made.status).toBe(201);
    const orgId = await newOrganization(cluster, tenant.partnerId);
    const wanted = { name: "Theirs", url: receiver.url, events: ["*"] };
    const theirs = await tenant.partnerAdmin.api.call("POST", "/webhooks", { ...wanted, orgId });
    const other = String(theirs.body.id);
    const elsewhere = `orgId=${orgId}`;
    const foreign: [method: string, path: string, body?: object][] = [
      ["GET", `/webhooks/${other}`],
      ["PATCH", `/webhooks/${other}`, { name: "Mine" }],
      ["DELETE", `/webhooks/${other}`],
      ["POST", `/webhooks/${other}/rotate-secret`, {}],
      ["POST", `/webhooks/${other}/test`, {}],
      ["POST", `/webhooks/${other}/replay`, { since: "2026-01-01T00:00:00Z", deliveryStatus: "missing" }],
      ["GET", `/webhooks/${other}/deliveries`],
      ["GET", `/webhooks/${other}/replays`],
      ["GET", `/webhooks/dead-letters?webhookId=${other}`],
      ["GET", `/webhooks/event-types?source=custom&${elsewhere}`],
      ["GET", `/webhooks?${elsewhere}`],
      ["POST", "/webhooks", { ...wanted, orgId }],
    ];
    for (const [method, path, body] of foreign) {
      expect([method, path, await status(portal.call(method, path, body))]).toEqual([method, path, 404]);
    }
    expect(await status(tenant.partnerAdmin.api.call("GET", `/webhooks/${other}`))).toBe(200);
  });

  it("counts requests of its session by the hour, as those of a user's", async () => {
    const { portal } = await opened();
    const { headers } = await portal.call("GET", "/webhooks");
    expect(headers.get("x-ratelimit-limit")).toMatch(/^\d+$/);
  });
});
