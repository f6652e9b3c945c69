import { randomUUID } from "node:crypto";
import { type Api, api, type SignedIn } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import type { Idp } from "./identity-provider.ts";
import type { SamlIdp } from "./saml-identity-provider.ts";
import { roleId } from "./users.ts";
import { newVisitor, type Visit, type Visitor } from "./visitor.ts";

export type ProviderBody = Record<string, unknown> & { id: string; status: string };

/**
 * A provider of an organization (by default active, making users with the role org-viewer), over the identity provider
 * `idp`.
 */
export async function newProvider(
  by: Api,
  idp: Idp,
  change: Record<string, unknown> & { status?: string; client?: number } = {},
): Promise<ProviderBody> {
  const { status = "active", client = 0, ...fields } = change;
  const defaultRoleId = "defaultRoleId" in fields ? fields.defaultRoleId : await roleId(by, "org-viewer");
  const created = await by.call("POST", "/sso/providers", {
    name: `Provider ${randomUUID()}`,
    type: "oidc",
    issuer: idp.issuer,
    clientId: idp.clientId(client),
    clientSecret: idp.secret,
    defaultRoleId,
    ...fields,
  });
  if (created.status !== 201) throw new Error(`provider answered ${created.status}: ${JSON.stringify(created.body)}`);
  return setStatus(by, String(created.body.id), status);
}

/** A provider of an organization over a SAML identity provider, from its metadata. */
export async function newSamlProvider(
  by: Api,
  idp: SamlIdp,
  change: Record<string, unknown> & { status?: string } = {},
): Promise<ProviderBody> {
  const { status = "active", ...fields } = change;
  const created = await by.call("POST", "/sso/providers", {
    name: `Provider ${randomUUID()}`,
    type: "saml",
    samlMetadataUrl: idp.metadataUrl,
    ...("ownerScope" in fields ? {} : { defaultRoleId: await roleId(by, "org-viewer") }),
    ...fields,
  });
  if (created.status !== 201) throw new Error(`provider answered ${created.status}: ${JSON.stringify(created.body)}`);
  return setStatus(by, String(created.body.id), status);
}

export async function setStatus(by: Api, id: string, status: string): Promise<ProviderBody> {
  const reply = await by.call("POST", `/sso/providers/${id}/status`, { status });
  if (reply.status !== 200) throw new Error(`status answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body as ProviderBody;
}

/** The address of the platform in browsers: the public one, which the identity provider sends back to. */
export const publicUrl = (cluster: Cluster) => `http://localhost:${new URL(cluster.url).port}`;

/** The address at which a browser starts: of an organization, or `partner/<id>`. */
export const loginUrl = (cluster: Cluster, owner: string) => `${publicUrl(cluster)}/api/v1/sso/login/${owner}`;

/** Follows a login flow up to the callback, or the post to us, which is not sent. */
export async function upToAnswer(
  cluster: Cluster,
  owner: string,
): Promise<{ visitor: Visitor; last: Visit; callback: string }> {
  const visitor = newVisitor();
  const last = await visitor.follow(loginUrl(cluster, owner), (next) => /\/sso\/(?:callback|saml\/acs)/.test(next));
  return { visitor, last, callback: last.location ?? "" };
}

/** Links one's own account through a provider; the end of the login flow. */
export async function linkThrough(cluster: Cluster, by: Api, providerId: string): Promise<Visit> {
  const visitor = newVisitor();
  const started = await by.call("POST", `/sso/link/start/${providerId}`);
  if (started.status !== 200) throw new Error(`link answered ${started.status}: ${JSON.stringify(started.body)}`);
  visitor.keep(new URL(publicUrl(cluster)).host, started.headers.getSetCookie());
  return visitor.follow(String(started.body.authUrl));
}

/** Goes through a whole login flow, up to the address of the app at its end. */
export function loginFlow(
  cluster: Cluster,
  orgId: string,
  { visitor = newVisitor(), redirect = "" }: { visitor?: Visitor; redirect?: string } = {},
): Promise<Visit> {
  const query = redirect === "" ? "" : `?redirect=${encodeURIComponent(redirect)}`;
  return visitor.follow(`${loginUrl(cluster, orgId)}${query}`);
}

/** The one-time code of a login flow's end. Throws when it ended otherwise. */
export function codeOf({ location }: Visit): string {
  const code = /#ssoCode=([\w-]+)$/.exec(location ?? "")?.[1];
  if (!code) throw new Error(`the login flow ended at ${location}`);
  return code;
}

/** Why a login flow ended without a code; null when it ended with one. Throws where no redirect ends it. */
export function reasonOf({ location, status, url, text }: Visit): string | null {
  if (location === null) {
    throw new Error(`the login flow stopped at ${url}, which answered ${status}: ${text.slice(0, 500)}`);
  }
  return new URL(location).searchParams.get("reason");
}

/** Signs a user in through a provider, with all redirects. */
export async function signInThrough(cluster: Cluster, orgId: string): Promise<SignedIn & { api: Api }> {
  const code = codeOf(await loginFlow(cluster, orgId));
  const { status, body } = await api(cluster).call("POST", "/sso/exchange", { code });
  if (status !== 200) throw new Error(`exchange answered ${status}: ${JSON.stringify(body)}`);
  const signedIn = body as unknown as SignedIn;
  return { ...signedIn, api: api(cluster, signedIn.accessToken) };
}

/** The newest attempt of a provider, as its administrators see it. */
export async function lastAttempt(by: Api, providerId: string): Promise<Record<string, unknown>> {
  const { body } = await by.call("GET", `/sso/providers/${providerId}/attempts`);
  return (body.data?.[0] ?? {}) as Record<string, unknown>;
}

/** The public answer about an organization's single sign-on. */
export const checkOf = async (cluster: Cluster, orgId: string) =>
  (await api(cluster).call("GET", `/sso/check/${orgId}`)).body;
