import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll } from "@jest/globals";
import { type Api, api } from "./client.ts";
import { admin, type Cluster } from "./cluster.ts";
import { operatorToken, totpCode } from "./operator.ts";

export type Membership = {
  partnerId?: string;
  orgId?: string;
  orgAccess?: "all" | "selected" | "none";
  orgIds?: string[];
  siteIds?: string[];
};

export type RoleKey = "platform-admin" | "partner-admin" | "partner-technician" | "org-admin" | "org-viewer";

/** A signed-in user without a second factor. */
export type TestUser = {
  id: string;
  email: string;
  password: string;
  accessToken: string;
  refreshToken: string;
  api: Api;
};

const password = "a password for tests only";

/** A platform administrator whose second factor counts. */
export async function operator(cluster: Cluster): Promise<Api> {
  return api(cluster, await operatorToken(cluster, admin));
}

/** A new user with this role and membership: invited, accepted and signed in. */
export async function signedInAs(cluster: Cluster, role: RoleKey, membership: Membership = {}): Promise<TestUser> {
  const root = await operator(cluster);
  const email = `${role}-${randomUUID()}@example.com`;
  const wanted = { email, name: `Test ${role}`, roleId: await roleId(root, role), ...membership };
  const created = await root.call("POST", "/users", wanted);
  if (created.status !== 201) throw new Error(`invitation answered ${created.status}: ${JSON.stringify(created.body)}`);
  const token = tokenOf(created.body.inviteUrl);
  const accepted = await api(cluster).call("POST", "/auth/accept-invite", { token, password });
  if (accepted.status !== 200) throw new Error(`accept-invite answered ${accepted.status}`);
  return { id: String(created.body.id), email, password, ...(await signInAgain(cluster, { email, password })) };
}

export async function signInAgain(
  cluster: Cluster,
  credentials: { email: string; password: string },
): Promise<Pick<TestUser, "accessToken" | "refreshToken" | "api">> {
  const { status, body } = await api(cluster).call("POST", "/auth/login", credentials);
  if (status !== 200) throw new Error(`login answered ${status}: ${JSON.stringify(body)}`);
  const accessToken = String(body.accessToken);
  return { accessToken, refreshToken: String(body.refreshToken), api: api(cluster, accessToken) };
}

/** Enrolls TOTP, which also counts as a completed challenge of the user's session. */
export async function enrollTotp(user: TestUser): Promise<{ secret: string; recoveryCodes: string[] }> {
  const setup = await user.api.call("POST", "/auth/mfa/totp/setup", { password: user.password });
  const secret = String(setup.body.secret);
  const enabled = await user.api.call("POST", "/auth/mfa/totp/enable", { code: totpCode(secret) });
  if (enabled.status !== 200) throw new Error(`enrollment answered ${enabled.status}: ${JSON.stringify(enabled.body)}`);
  return { secret, recoveryCodes: enabled.body.recoveryCodes as string[] };
}

export async function roleId(by: Api, key: RoleKey): Promise<string> {
  const { body } = await by.call("GET", "/roles");
  const found = ((body.data ?? []) as { id: string; key: string }[]).find((role) => role.key === key);
  if (!found) throw new Error(`no role ${key}`);
  return found.id;
}

/** The token of an invitation's URL. */
export const tokenOf = (inviteUrl: unknown) =>
  new URLSearchParams(new URL(String(inviteUrl)).hash.slice(1)).get("token") ?? "";

/** A new active partner; returns its id. */
export async function newPartner(cluster: Cluster, change: object = {}): Promise<string> {
  const wanted = { name: "Test partner", slug: `p-${randomUUID()}`, ...change };
  const id = await create(cluster, "/orgs/partners", wanted);
  partners.push({ cluster, id });
  return id;
}

/** Those that this suite made. */
const partners: { cluster: Cluster; id: string }[] = [];

// Webhooks, streams and rollouts of a suite would go on while others run on the same cluster.
afterAll(async () => {
  const shared = join(process.env.MUSTER_E2E_DIR ?? "", "data");
  for (const { cluster, id } of partners.filter((one) => one.cluster.dataDir === shared)) {
    const { status } = await (await operator(cluster)).call("DELETE", `/orgs/partners/${id}`);
    if (status !== 200 && status !== 404) throw new Error(`deleting a partner answered ${status}`);
  }
}, 120_000);

/** A new active organization of a partner; returns its id. */
export async function newOrganization(cluster: Cluster, partnerId: string, change: object = {}): Promise<string> {
  return create(cluster, "/orgs/organizations", { partnerId, name: "Test org", slug: `o-${randomUUID()}`, ...change });
}

/** A new site of an organization; returns its id. */
export async function newSite(cluster: Cluster, orgId: string, change: object = {}): Promise<string> {
  return create(cluster, "/orgs/sites", { orgId, name: `Site ${randomUUID()}`, ...change });
}

async function create(cluster: Cluster, path: string, body: object): Promise<string> {
  const reply = await (await operator(cluster)).call("POST", path, body);
  if (reply.status !== 201) throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return String(reply.body.id);
}
