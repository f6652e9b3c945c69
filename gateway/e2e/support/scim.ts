import { randomUUID } from "node:crypto";
import type { Api } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import { checkDocumented } from "./documented.ts";

export type ScimReply = { status: number; headers: Headers; body: Record<string, unknown> };

/** A directory as its tenant's administrator sees it, and its client. */
export type TestDirectory = { id: string; token: string; scim: Scim };

export type Scim = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ScimReply>;

export const enterpriseUrn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const userUrn = "urn:ietf:params:scim:schemas:core:2.0:User";
export const groupUrn = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const patchUrn = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/** Calls under `/api/v1/scim/v2`, as a directory makes them. Throws when an answer is not as documented. */
export function scimClient(cluster: Cluster, token: string): Scim {
  return async (method, path, body, headers = {}) => {
    const sent: Record<string, string> = body === undefined ? {} : { "content-type": "application/scim+json" };
    const reply = await fetch(`${cluster.url}/api/v1/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...sent, ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await reply.text();
    const { status, headers: answered } = reply;
    await checkDocumented(cluster, { method, path: `/api/v1/scim/v2${path}`, status, headers: answered, text });
    return { status, headers: answered, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
  };
}

/** A new directory of an organization. */
export async function newDirectory(
  cluster: Cluster,
  by: Api,
  fields: Record<string, unknown> = {},
): Promise<TestDirectory> {
  const { status, body } = await by.call("POST", "/directories", { name: `Directory ${randomUUID()}`, ...fields });
  if (status !== 201) throw new Error(`POST /directories answered ${status}: ${JSON.stringify(body)}`);
  const token = String(body.token);
  return { id: String(body.id), token, scim: scimClient(cluster, token) };
}

/** A user as Entra sends one. */
export const entraUser = (userName: string, more: Record<string, unknown> = {}) => ({
  schemas: [userUrn, enterpriseUrn],
  externalId: randomUUID(),
  userName,
  active: true,
  displayName: "Ada Lovelace",
  emails: [{ primary: true, type: "work", value: userName }],
  meta: { resourceType: "User" },
  name: { formatted: "Ada Lovelace", familyName: "Lovelace", givenName: "Ada" },
  roles: [],
  [enterpriseUrn]: { department: "Engines" },
  ...more,
});

export const patchOf = (...Operations: unknown[]) => ({ schemas: [patchUrn], Operations });

/** The error of a reply: status, `scimType`, and whether it has SCIM's body. */
export function scimError({ status, body, headers }: ScimReply): unknown[] {
  const isShaped =
    JSON.stringify(body.schemas) === '["urn:ietf:params:scim:api:messages:2.0:Error"]' &&
    body.status === String(status) &&
    typeof body.detail === "string" &&
    /^application\/scim\+json/.test(headers.get("content-type") ?? "");
  return [status, body.scimType ?? null, isShaped];
}
