import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { testDatabase } from "./database.ts";
import { type Policy, policiesOf } from "./policies.ts";
import { asOwner } from "./without-context.ts";

const folder = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const services = readdirSync(folder("services"));

/** Policies whose condition is none of policy_condition(): the migration that creates each explains why. */
const ownConditions: Record<string, string[]> = {
  "*": ["idempotency_own", "idempotency_clean", "tenant_read"],
  "agent-release": [
    "artifact_read",
    "promotion_read",
    "release_read",
    "update_attempt_read",
    "update_settings_read",
    "update_settings_write",
  ],
  audit: ["checkpoint_thin", "job_export", "job_verify"],
  "device-logs": ["reached"],
  identity: [
    "login_branding_partner",
    "mail_queue",
    "roles_add",
    "roles_change",
    "roles_read",
    "roles_remove",
    "sign_in_policies_inherited",
    "sso_identities_own",
    "user_organizations_tenant",
  ],
  tenancy: [
    "organizations_insert",
    "organizations_read",
    "organizations_update",
    "partners_read",
    "partners_update",
    "sites_reached",
  ],
};
/** What a session of the webhook portal sees and changes. */
const ofPortal = [
  "attempts",
  "dead_letters",
  "deliveries",
  "endpoint_state",
  "events",
  "organizations",
  "queue",
  "replays",
]
  .map((name) => `webhook_${name}`)
  .concat("webhooks")
  .flatMap((table) => [`${table}_portal`, `${table}_portal_read`]);
ownConditions["webhook-dispatcher"] = ["tenant_portal", "webhook_event_types_portal", ...ofPortal];

const isNamed = ({ scope }: Policy) => /^[a-z]+$/.test(scope);

async function policiesOfService(service: string): Promise<Policy[]> {
  const tenants = { label: "service", path: folder("libs/service/migrations") };
  const own = { label: service, path: folder(`services/${service}/migrations`) };
  const database = await testDatabase({ service, dirs: service === "tenancy" ? [own] : [tenants, own] });
  try {
    return await asOwner(database, policiesOf);
  } finally {
    await database.drop();
  }
}

describe("row-level policies", () => {
  it.each(services)("in %s are the ones of policy_condition(), but for those listed here", async (service) => {
    const policies = await policiesOfService(service);
    const listed = [...(ownConditions["*"] ?? []), ...(ownConditions[service] ?? [])];
    const others = [...new Set(policies.filter((policy) => !isNamed(policy)).map(({ name }) => name))];
    expect(others.sort()).toEqual(listed.filter((name) => policies.some((policy) => policy.name === name)).sort());
    expect((ownConditions[service] ?? []).filter((name) => !others.includes(name))).toEqual([]);
  });

  it.each(services)("in %s have a condition for writes only where it differs from that for reads", async (service) => {
    const policies = await policiesOfService(service);
    expect(policies.filter(({ scope, check }) => check === scope)).toEqual([]);
  });
});
