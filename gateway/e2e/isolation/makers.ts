import { randomUUID } from "node:crypto";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { enroller } from "../support/enroller.ts";
import { newDirectory, type TestDirectory } from "../support/scim.ts";
import { operator, roleId } from "../support/users.ts";
import type { Owner } from "./database.ts";
import type { Kind, Spot, Target } from "./model.ts";
import { registeredVersion, releaseBody } from "./releases.ts";
import { webhookMakers } from "./webhooks.ts";

export type Makers = {
  root: Api;
  /** Part of every name that a run creates. */
  run: string;
  roleIds: Readonly<Record<"platform-admin" | "partner-technician" | "org-viewer", string>>;
  /** A new record of that kind, made by a platform administrator; throws for a spot that cannot hold one. */
  make(kind: Kind, spot: Spot): Promise<Target>;
  /** A device that is quarantined because another one, made for that, has its hardware id. */
  makeClone(spot: Spot): Promise<Target>;
  /**
   * Keys that came with service principals, webhooks with dead letters, providers with sign-ins, and what came with
   * users and groups of directories.
   */
  principalKeys: Target[];
  /** The directory of a spot, made when it is first asked for. */
  directoryOf(spot: Spot): Promise<TestDirectory>;
  webhookUrl: string;
  /** Pauses the webhooks that callers made: they would call a receiver that a later suite has at the same port. */
  pauseMade(): Promise<void>;
  /** The failed delivery that each webhook was made with. */
  deliveryOf(webhookId: string): string;
  /** The replay that each webhook was made with; it waits, because its webhook is paused. */
  replayOf(webhookId: string): string;
  /** As make, with the secret of a key. */
  makeKey(spot: Spot, scopes: readonly string[]): Promise<{ target: Target; key: string }>;
  makePrincipal(spot: Spot, scopes: readonly string[]): Promise<{ target: Target; key: string; keyTarget: Target }>;
};

const lifeMs = 3_600_000;

/** Makes records over HTTP, devices as an enrollment does. */
export async function makersFor(cluster: Cluster, owner: Owner): Promise<Makers> {
  const root = await operator(cluster);
  const enroll = await enroller(cluster);
  const run = `iso-${randomUUID().slice(0, 8)}`;
  const roleIds = {
    "platform-admin": await roleId(root, "platform-admin"),
    "partner-technician": await roleId(root, "partner-technician"),
    "org-viewer": await roleId(root, "org-viewer"),
  };

  const registered = await root.call("POST", "/agent-versions", releaseBody("matrix", registeredVersion));
  if (registered.status !== 201 && registered.status !== 409)
    throw new Error(`registering a version answered ${registered.status}`);

  const principalKeys: Target[] = [];
  let rollouts = 0;
  const hooks = await webhookMakers(cluster, root, owner);

  async function post(path: string, body: object) {
    // A busy machine sheds calls, and nothing has happened then.
    const reply = await until(`POST ${path} to be served`, async () => {
      const answered = await root.call("POST", path, body);
      return answered.status === 503 ? null : answered;
    });
    if (reply.status !== 201 && reply.status !== 202)
      throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  }

  const directories = new Map<string, Promise<TestDirectory>>();
  const directoryOf = (spot: Spot): Promise<TestDirectory> => {
    const key = `${spot.relation} ${spot.orgId}`;
    const made = directories.get(key) ?? addDirectory(spot);
    directories.set(key, made);
    return made;
  };
  async function addDirectory(spot: Spot): Promise<TestDirectory> {
    const made = await newDirectory(cluster, root, { orgId: spot.orgId });
    principalKeys.push(targetAt("directory", spot, made.id, null));
    return made;
  }
  /** A user or a group of the directory of its spot. */
  async function makeScim(kind: "scim_user" | "scim_group", name: string, spot: Spot): Promise<Target> {
    const { id: directoryId, scim } = await directoryOf(spot);
    const [path, body] = kind === "scim_user" ? ["/Users", { userName: name }] : ["/Groups", { displayName: name }];
    const made = await scim("POST", String(path), body);
    if (made.status !== 201) throw new Error(`SCIM answered ${made.status}: ${JSON.stringify(made.body)}`);
    const target = { ...targetAt(kind, spot, String(made.body.id), name), directoryId };
    if (kind === "scim_user") principalKeys.push({ ...target, kind: "user" });
    return target;
  }

  const targetAt = (kind: Kind, spot: Spot, id: string, marker: string | null): Target => {
    const { relation, partnerId, orgId, siteId, state = "active" } = spot;
    const own = { partner: { partnerId: id }, organization: { orgId: id }, site: { siteId: id } };
    return { kind, relation, id, partnerId, orgId, siteId, marker, state, ...(own as Record<string, object>)[kind] };
  };

  function bodyOf(kind: Kind, name: string, { partnerId, orgId, siteId }: Spot): [path: string, body: object] {
    switch (kind) {
      case "partner":
        return ["/orgs/partners", { name, slug: name }];
      case "organization":
        return ["/orgs/organizations", { partnerId, name, slug: name }];
      case "site":
        return ["/orgs/sites", { orgId, name }];
      case "device_group":
        return ["/device-groups", { orgId, siteId, name }];
      case "user": {
        const role = orgId ? "org-viewer" : partnerId ? "partner-technician" : "platform-admin";
        return ["/users", { email: `${name}@example.com`, name, partnerId, orgId, roleId: roleIds[role] }];
      }
      case "role":
        return ["/roles", { name, partnerId, orgId, permissions: ["devices:read"] }];
      case "api_key":
        return ["/api-keys", { orgId, name, scopes: ["devices:read"] }];
      case "audit_verification":
        return ["/audit-logs/verify", { orgId }];
      case "audit_alert":
        return ["/audit-logs/alerts", { orgId, name, query: { action: name }, notify: { webhook: true } }];
      case "audit_export":
        return ["/audit-logs/exports", { orgId }];
      case "audit_stream":
        return ["/audit-logs/streams", { orgId, name, type: "archive" }];
      case "service_principal":
        return ["/service-principals", { orgId, name, scopes: ["devices:read"] }];
      case "sso_provider":
        return ["/sso/providers", { orgId, name, type: "oidc" }];
      case "sso_domain":
        return ["/sso/domains", { orgId, domain: `${name}.example` }];
      case "directory":
        return ["/directories", { orgId, name }];
      case "portal_link":
        return ["/webhooks/portal-links", { orgId, name }];
      case "saved_view":
        return ["/saved-views", { orgId, name, resource: "devices", query: { search: name }, shared: true }];
      case "agent_version":
        return ["/agent-versions", releaseBody(name)];
      case "enrollment_key": {
        const expiresAt = new Date(Date.now() + lifeMs).toISOString();
        return ["/enrollment-keys", { orgId, name, expiresAt, ...(siteId ? { siteId } : {}) }];
      }
      default:
        throw new Error(`nobody makes a record of kind ${kind}: add it to makers.ts`);
    }
  }

  /** A failed sign-in through a provider, as identity stores it. */
  async function attemptThrough(providerId: string, detail: string): Promise<string> {
    const [attempt] = await owner.rows<{ id: string }>(
      `INSERT INTO identity.sso_attempts
         (id, provider_id, partner_id, org_id, kind, outcome, step, reason, detail, created_at)
       SELECT gen_random_uuid(), id, partner_id, org_id, 'login', 'failure', 'claims', 'email_missing', $2, now()
       FROM identity.sso_providers WHERE id = $1 RETURNING id`,
      [providerId, detail],
    );
    if (!attempt) throw new Error("a sign-in was not stored");
    return attempt.id;
  }

  /** A job that no process works on, so that it can be cancelled. */
  async function bulkJob({ partnerId, orgId }: Spot): Promise<string> {
    const [job] = await owner.rows<{ id: string }>(
      `INSERT INTO tenancy.device_bulk_jobs (id, partner_id, org_id, created_by, caller, meta, filter, action, change, device_ids,
                                             total, claimed_until, created_at)
       VALUES (gen_random_uuid(), $1, $2, gen_random_uuid(), '{}', '{}', '{}', 'approve', '{}', ARRAY[gen_random_uuid()],
               1, 'infinity', now())
       RETURNING id`,
      [partnerId, orgId],
    );
    if (!job) throw new Error("a bulk job was not stored");
    return job.id;
  }

  /** A rollout of a version of its own, the newest: one that is completed promotes its version. */
  async function makeRollout({ partnerId }: Spot): Promise<string> {
    const { version } = await post("/agent-versions", releaseBody(`matrix.${Date.now()}.${rollouts++}`));
    const { id } = await post("/agent-versions/rollouts", { component: "helper", version, percent: 1 });
    // Given to the partner as if its own people had started it.
    await owner.rows("UPDATE agent_release.rollout SET partner_id = $1 WHERE id = $2", [partnerId, id]);
    return String(id);
  }

  async function makeTemplate(name: string): Promise<string> {
    return String((await post("/agent-versions/rollout-templates", { name, percent: 1 })).id);
  }

  async function make(kind: Kind, spot: Spot): Promise<Target> {
    const name = `${run}-${spot.relation}-${kind.replace("_", "-").slice(0, 13)}-${randomUUID().slice(0, 8)}`;
    if (kind === "device") {
      const wanted = { hostname: name, ...(spot.siteId ? { siteId: spot.siteId } : {}) };
      return targetAt(kind, spot, await enroll(spot.orgId ?? "", wanted), name);
    }
    if (kind === "scim_user" || kind === "scim_group") return makeScim(kind, name, spot);
    if (kind === "webhook") return targetAt(kind, spot, await hooks.webhook(spot, name), name);
    if (kind === "delivery") return targetAt(kind, spot, hooks.deliveryOf(await hooks.webhook(spot, name)), name);
    if (kind === "replay") return targetAt(kind, spot, hooks.replayOf(await hooks.webhook(spot, name)), null);
    if (kind === "event") return targetAt(kind, spot, await hooks.event(spot, name), name);
    if (kind === "bulk_job") return targetAt(kind, spot, await bulkJob(spot), null);
    if (kind === "rollout") return targetAt(kind, spot, await makeRollout(spot), name);
    if (kind === "rollout_template") return targetAt(kind, spot, await makeTemplate(name), name);
    if (kind === "sso_attempt") {
      const provider = await post(...bodyOf("sso_provider", name, spot));
      principalKeys.push(targetAt("sso_provider", spot, String(provider.id), name));
      return targetAt(kind, spot, await attemptThrough(String(provider.id), name), name);
    }
    if (kind === "dead_letter") {
      const webhookId = await hooks.webhook(spot, name);
      principalKeys.push(targetAt("webhook", spot, webhookId, name));
      return targetAt(kind, spot, await hooks.deadLetter(webhookId), null);
    }
    const { id, keyId } = await post(...bodyOf(kind, name, spot));
    if (kind === "service_principal") {
      principalKeys.push(targetAt("api_key", spot, String(keyId), name));
    }
    if (kind === "audit_export") {
      await until("the export to be done", async () => {
        return (await root.call("GET", `/audit-logs/exports/${id}`)).body.status === "done";
      });
    }
    if (kind === "audit_stream") {
      // The row does not change while other calls add rows.
      const { status } = await root.call("PATCH", `/audit-logs/streams/${id}`, { status: "paused" });
      if (status !== 200) throw new Error(`pausing a stream answered ${status}`);
    }
    return targetAt(kind, spot, String(id), name);
  }

  return {
    root,
    run,
    roleIds,
    principalKeys,
    directoryOf,
    webhookUrl: hooks.url,
    pauseMade: hooks.pauseMade,
    deliveryOf: hooks.deliveryOf,
    replayOf: hooks.replayOf,
    make,
    async makeClone(spot) {
      const name = `${run}-${spot.relation}-clone-${randomUUID().slice(0, 8)}`;
      const wanted = { hostname: name, hardwareId: randomUUID(), ...(spot.siteId ? { siteId: spot.siteId } : {}) };
      await enroll(spot.orgId ?? "", wanted);
      return targetAt("device", spot, await enroll(spot.orgId ?? "", wanted), name);
    },
    async makeKey(spot, scopes) {
      const name = `${run}-actor-key-${randomUUID().slice(0, 8)}`;
      // The whole table calls as each actor about a thousand times.
      const body = await post("/api-keys", { orgId: spot.orgId, name, scopes, rateLimit: 100_000 });
      return { target: targetAt("api_key", spot, String(body.id), name), key: String(body.key) };
    },
    async makePrincipal(spot, scopes) {
      const name = `${run}-actor-principal-${randomUUID().slice(0, 8)}`;
      const body = await post("/service-principals", { orgId: spot.orgId, name, scopes });
      // There are more cells than an hour has requests by default.
      const { status } = await root.call("PATCH", `/api-keys/${body.keyId}`, { rateLimit: 100_000 });
      if (status !== 200) throw new Error(`raising a key's limit answered ${status}`);
      return {
        target: targetAt("service_principal", spot, String(body.id), name),
        key: String(body.key),
        keyTarget: targetAt("api_key", spot, String(body.keyId), name),
      };
    },
  };
}
