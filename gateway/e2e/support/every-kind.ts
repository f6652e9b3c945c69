import { until } from "@muster/testing";
import { agentMaker } from "./agent-maker.ts";
import type { Cluster } from "./cluster.ts";
import { enroller } from "./enroller.ts";
import { newDirectory } from "./scim.ts";
import type { tenantWithAdmins } from "./tenant-with-admins.ts";

/** Names as people and programs give them: as long as may be, without a space, and from right to left. */
export const names = ["x".repeat(255), `${"מבט-של-העובדים ".repeat(17)}`.trim(), "W".repeat(120)] as const;
const [long, rightToLeft, wide] = names;

type Tenant = Awaited<ReturnType<typeof tenantWithAdmins>>;

/** One record of each kind with such a name; the id that each route shows. */
export async function everyKind(cluster: Cluster, { partnerId, orgId, admin }: Tenant, hook: string) {
  const create = async (path: string, body: object, status = 201) => {
    const reply = await admin.api.call("POST", path, { orgId, ...body });
    if (reply.status !== status)
      throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
    return String(reply.body.id);
  };
  const siteId = await create("/orgs/sites", { name: rightToLeft });
  const agent = await (await agentMaker(cluster))({ partnerId, orgId, siteId }, { hostname: long });
  const metrics = { "cpu.percent": 91, "memory.percent": 48, "disk.percent": 97 };
  await agent.api.call("POST", `/agents/${agent.deviceId}/heartbeat`, { agentVersion: "1.4.2", metrics });
  const logs = [{ timestamp: new Date().toISOString(), level: "error", component: "printer", message: wide }];
  await agent.api.call("POST", `/agents/${agent.deviceId}/logs`, { logs });
  const enroll = await enroller(cluster);
  for (const hostname of ["old", rightToLeft]) await enroll(orgId, { siteId, hostname, hardwareId: `b-${orgId}` });
  const groupId = await create("/device-groups", { name: long });
  await admin.api.call("POST", `/device-groups/${groupId}/devices`, { deviceIds: [agent.deviceId] });
  await create("/api-keys", { name: wide, scopes: ["devices:read"] });
  await create("/service-principals", { name: long, scopes: ["devices:read"] });
  await create("/enrollment-keys", { name: rightToLeft });
  const roleId = await create("/roles", { name: rightToLeft, description: wide, permissions: ["devices:read"] });
  await create("/users", { email: `long-${orgId}@example.com`, name: long, roleId });
  const providerId = await create("/sso/providers", { name: long, type: "oidc" });
  const webhookId = await create("/webhooks", { name: rightToLeft, url: `${hook}/${wide}`, events: ["*"] });
  await admin.api.call("POST", `/webhooks/${webhookId}/test`);
  await create("/sso/domains", { domain: `long-${orgId}.example` });
  await create("/webhooks/portal-links", { name: long, capabilities: ["manage_webhooks", "resend_deliveries"] });
  await create("/webhooks/event-types", { type: `custom.${"x".repeat(60)}`, description: wide });
  await create("/audit-logs/alerts", { name: long, template: "many-refusals", notify: { mail: [admin.id] } });
  await create("/audit-logs/streams", { name: wide, type: "webhook", url: hook });
  await create("/audit-logs/exports", { action: wide }, 202);
  const { id: directoryId } = await newDirectory(cluster, admin.api, { name: long });
  const filter = { orgId, search: "old" };
  const change = { autoUpdateEnabled: false };
  const jobId = await create("/devices/bulk-jobs", { filter, expectedCount: 1, action: "update", change }, 202);
  const firstOf = (path: string) =>
    until(`a row of ${path}`, async () => {
      const { body } = await admin.api.call("GET", path);
      return (body.data?.[0] as { id: string } | undefined)?.id ?? null;
    });
  const deliveryId = await firstOf(`/webhooks/${webhookId}/deliveries`);
  const auditId = await firstOf("/audit-logs/logs?action=site.create");
  return {
    "/devices/$id": agent.deviceId,
    "/devices/$id/live": agent.deviceId,
    "/devices/bulk-jobs/$id": jobId,
    "/sites/$id": siteId,
    "/audit/$id": auditId,
    "/people/$id": admin.id,
    "/roles/$id": roleId,
    "/webhooks/$id": webhookId,
    "/webhooks/$id/deliveries/$deliveryId": webhookId,
    deliveryId,
    "/settings/sso/$id": providerId,
    "/settings/directories/$id": directoryId,
  };
}
