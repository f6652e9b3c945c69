import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createSigner } from "@muster/rpc";
import { callers, until } from "@muster/testing";
import pg from "pg";
import type { Api } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import { rpcCall } from "./rpc-call.ts";

export type Wanted = {
  id?: string;
  siteId?: string;
  hostname?: string;
  hardwareId?: string;
  serialNumber?: string;
  os?: string;
  arch?: string;
  agentVersion?: string;
  labels?: Record<string, string>;
};
export type Tenant = { partnerId: string; orgId: string; siteId: string };

/** Makes devices as identity does when an agent enrolls; a refusal is thrown with the service's reason. */
export async function enroller(cluster: Cluster): Promise<(orgId: string, wanted?: Wanted) => Promise<string>> {
  const secrets = await readFile(join(cluster.dataDir, "keys", "secrets.json"), "utf8");
  const keys = JSON.parse(secrets) as { callers: Record<string, { privateKey: string }> };
  const signer = createSigner({ issuer: "identity", privateKeys: keys.callers.identity?.privateKey ?? "" });
  return async (orgId, wanted = {}) => {
    const stack = await cluster.stack();
    const token = await signer.tokenFor(callers.service("identity"), "tenancy");
    const device = { id: randomUUID(), orgId, hostname: "HOST", os: "windows", arch: "amd64", agentVersion: "1.0.0" };
    const create = "muster.tenancy.v1.DeviceService/CreateDevice";
    // A busy machine sheds calls, and nothing has happened then.
    const reply = await until("a device to be made", async () => {
      const answered = await rpcCall(stack, "tenancy", create, { ...device, ...wanted }, token);
      return answered.status === 503 ? null : answered;
    });
    const body = reply.body as { device?: { id: string }; message?: string };
    if (!body.device) throw new Error(`${reply.status} ${body.message}`);
    return body.device.id;
  };
}

/** A new partner with an organization that has a site. */
export async function newTenant(root: Api, caps: { maxDevices?: number } = {}): Promise<Tenant> {
  const slug = `e-${randomUUID()}`;
  const partner = await root.call("POST", "/orgs/partners", { name: "Partner", slug });
  const partnerId = partner.body.id as string;
  const orgId = await newOrganization(root, partnerId, caps);
  const site = await root.call("POST", "/orgs/sites", { orgId, name: "Site" });
  return { partnerId, orgId, siteId: site.body.id as string };
}

export async function newOrganization(
  root: Api,
  partnerId: string,
  caps: { maxDevices?: number } = {},
): Promise<string> {
  const wanted = { partnerId, name: "Organization", slug: `e-${randomUUID()}`, ...caps };
  return (await root.call("POST", "/orgs/organizations", wanted)).body.id as string;
}

/** Subjects of a device's events that the stream has acknowledged, oldest first. */
export async function publishedEvents(cluster: Cluster, deviceId: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ subject: string }>(
      "SELECT subject FROM tenancy.outbox WHERE msg_id LIKE $1 AND published_at IS NOT NULL ORDER BY id",
      [`%/device-${deviceId}-%`],
    );
    return rows.map(({ subject }) => subject);
  } finally {
    await client.end();
  }
}

/** Actions of the sealed audit rows about a record, oldest first. */
export async function auditedActions(root: Api, prefix: string, resourceId: string): Promise<string[]> {
  // Of this record alone: other suites make hundreds of rows of the same action meanwhile.
  const { body } = await root.call("GET", `/audit-logs/logs?action=${prefix}&resourceId=${resourceId}&limit=100`);
  return ((body.data ?? []) as { action: string }[]).map(({ action }) => action).reverse();
}
