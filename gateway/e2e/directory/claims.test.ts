import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { loginFlow, reasonOf, signInThrough } from "../support/login-flow.ts";
import { ownProvider } from "../support/own-provider.ts";
import { newDirectory } from "../support/scim.ts";
import { auditRows } from "../support/tenant-with-admins.ts";
import { roleId } from "../support/users.ts";

const { cluster, tenant, call, idp, provider } = ownProvider();
const roles = { admin: "", viewer: "" };
const account = () => ({
  sub: randomUUID(),
  email: `${randomUUID()}@claims.example`,
  email_verified: true,
  name: "Ada",
});

beforeAll(async () => {
  roles.admin = await roleId(tenant.admin.api, "org-admin");
  roles.viewer = await roleId(tenant.admin.api, "org-viewer");
  const attributeMapping = { email: "email", name: "name", groups: "groups" };
  const mapped = await call("PATCH", `/sso/providers/${provider.id}`, { attributeMapping });
  expect(mapped.status).toBe(200);
  const { id } = await newDirectory(cluster, tenant.admin.api, { preset: "keycloak", providerId: provider.id });
  const mappings = [
    { claim: "admins", roleId: roles.admin },
    { claim: "everybody", roleId: roles.viewer },
  ];
  const put = await call("PUT", `/directories/${id}/mappings`, { mappings });
  expect([put.status, put.body.code]).toEqual([200, undefined]);
}, 180_000);

async function signedInWith(user: object, groups: readonly string[]) {
  idp.become({ ...user, groups } as never);
  return (await signInThrough(cluster, tenant.orgId)).api;
}

describe("groups that come as claims", () => {
  it("are roles at each sign-in: given, changed, and taken away with all sessions", async () => {
    const user = account();
    const first = await signedInWith(user, ["everybody", "admins"]);
    expect((await first.call("GET", "/directories")).status).toBe(200);
    const second = await signedInWith(user, ["everybody"]);
    expect((await second.call("GET", "/directories")).body.code).toBe("permission_denied");
    expect((await first.call("GET", "/directories")).body.code).toBe("permission_denied");
    expect((await first.call("GET", "/auth/me")).status).toBe(200);

    idp.become({ ...user, groups: ["others"] } as never);
    expect(reasonOf(await loginFlow(cluster, tenant.orgId))).toBe("no_org_access");
    expect((await first.call("GET", "/auth/me")).status).toBe(401);
    const { body } = await call("GET", `/users?search=${encodeURIComponent(user.email)}`);
    const [{ id }] = body.data as [{ id: string }];
    const rows = await auditRows(tenant.admin.api, tenant.orgId, id, 3);
    const changes = rows.filter(({ action }) => action === "user.permission.change");
    expect(changes.map(({ details }) => (details.via as { cause: string }).cause)).toEqual(["sign_in", "sign_in"]);
  });

  it("create nobody without a role", async () => {
    const user = account();
    idp.become({ ...user, groups: [] } as never);
    expect(reasonOf(await loginFlow(cluster, tenant.orgId))).toBe("no_org_access");
    const { body } = await call("GET", `/users?search=${encodeURIComponent(user.email)}`);
    expect(body.data).toEqual([]);
  });
});
