import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Call } from "./administrator.ts";

export const host = "bench.example.test";

/** An organization, and the port of this machine to which its webhook sends every event. */
export type WebhookOwner = { orgId: string; port: number };

/** A partner with one organization per port. */
export async function webhookOwners(call: Call, ports: readonly number[]): Promise<WebhookOwner[]> {
  const slug = () => `f-${randomUUID()}`;
  const partner = await untilMade(call, "/orgs/partners", { name: "Failover", slug: slug() });
  const owners: WebhookOwner[] = [];
  for (const port of ports) {
    const wanted = { partnerId: partner.id, name: "Failover", slug: slug() };
    const { id } = await untilMade(call, "/orgs/organizations", wanted);
    const orgId = String(id);
    const url = `https://${host}:${port}/hook`;
    await untilMade(call, "/webhooks", { orgId, name: "Failover", url, secret: "failover", events: ["*"] });
    owners.push({ orgId, port });
  }
  return owners;
}

/** Services learn of a new organization a moment after tenancy; the last refusal is thrown. */
export async function untilMade(call: Call, path: string, body: object): Promise<Record<string, unknown>> {
  for (let tries = 0; ; tries++) {
    const reply = await call("POST", path, body);
    if (reply.status === 201) return reply.body;
    if (tries === 100) throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
    await delay(50);
  }
}
