import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { manyUsers } from "../support/many-users.ts";
import { ownTenant } from "../support/own-tenant.ts";
import {
  entraUser,
  groupUrn,
  newDirectory,
  patchOf,
  type Scim,
  type ScimReply,
  scimError,
  type TestDirectory,
} from "../support/scim.ts";
import { auditRows, enrolledAs, fieldsOf } from "../support/tenant-with-admins.ts";
import { newSite, roleId, signedInAs } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();
const roles: Record<"admin" | "viewer", string> = { admin: "", viewer: "" };
const address = () => `${randomUUID()}@directory.example`;

beforeAll(async () => {
  roles.admin = await roleId(tenant.admin.api, "org-admin");
  roles.viewer = await roleId(tenant.admin.api, "org-viewer");
}, 180_000);

async function userIn(scim: Scim, userName = address()): Promise<string> {
  const { status, body } = await scim("POST", "/Users", entraUser(userName));
  if (status !== 201) throw new Error(`SCIM answered ${status}: ${JSON.stringify(body)}`);
  return String(body.id);
}

async function groupIn(
  scim: Scim,
  members: readonly string[] = [],
  displayName: string = randomUUID(),
): Promise<string> {
  const sent = { schemas: [groupUrn], displayName, members: members.map((value) => ({ value })) };
  const { status, body } = await scim("POST", "/Groups", sent);
  if (status !== 201) throw new Error(`SCIM answered ${status}: ${JSON.stringify(body)}`);
  return String(body.id);
}

const membersOf = ({ body }: ScimReply) =>
  ((body.members ?? []) as { value: string }[]).map(({ value }) => value).sort();
const userOf = async (id: string) => (await call("GET", `/users/${id}`)).body;

describe("a group of a directory", () => {
  it("goes from created to patched to replaced to deleted, with members as a set", async () => {
    const { id: directoryId, scim } = await newDirectory(cluster, tenant.admin.api);
    const [a, b, c] = [await userIn(scim), await userIn(scim), await userIn(scim)];
    const displayName = randomUUID();
    const externalId = randomUUID();
    const made = await scim("POST", "/Groups", { displayName, externalId, members: [{ value: a }, { value: a }] });
    expect([made.status, made.body.displayName, membersOf(made)]).toEqual([201, displayName, [a]]);
    const id = String(made.body.id);
    expect((await scim("GET", `/Users/${a}`)).body.groups).toMatchObject([{ value: id, display: displayName }]);

    const added = await scim(
      "PATCH",
      `/Groups/${id}`,
      patchOf({ op: "Add", path: "members", value: [{ value: b }, { value: c }] }),
    );
    expect([added.status, added.body]).toEqual([204, {}]);
    const again = await scim("PATCH", `/Groups/${id}`, patchOf({ op: "Add", path: "members", value: [{ value: b }] }));
    expect([again.status, again.headers.get("etag")]).toEqual([204, added.headers.get("etag")]);
    const removed = patchOf(
      { op: "Remove", path: "members", value: [{ value: a }] },
      { op: "remove", path: `members[value eq "${b}"]` },
      { op: "replace", value: { id, displayName: `${displayName}-2` } },
    );
    const shown = await scim("PATCH", `/Groups/${id}?attributes=displayName,members`, removed);
    expect([shown.status, shown.body.displayName, membersOf(shown)]).toEqual([200, `${displayName}-2`, [c]]);
    const put = await scim("PUT", `/Groups/${id}`, { displayName, members: [{ value: a }, { value: b }] });
    expect([put.status, put.body.externalId, membersOf(put)]).toEqual([200, undefined, [a, b].sort()]);

    const filter = encodeURIComponent(`displayName eq "${displayName.toUpperCase()}"`);
    const found = await scim("GET", `/Groups?filter=${filter}&excludedAttributes=members`);
    expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id }] });
    expect(JSON.stringify(found.body)).not.toContain("members");
    const ofMember = encodeURIComponent(`members[value eq "${a}"]`);
    expect((await scim("GET", `/Groups?filter=${ofMember}`)).body.totalResults).toBe(1);
    const listed = await call("GET", `/directories/${directoryId}/groups`);
    expect(listed.body.data).toMatchObject([{ id, name: displayName, members: 2 }]);
    expect((await scim("DELETE", `/Groups/${id}`)).status).toBe(204);
    expect(scimError(await scim("GET", `/Groups/${id}`))).toEqual([404, null, true]);
    const rows = await auditRows(tenant.admin.api, tenant.orgId, id, 5);
    expect(rows.map(({ action }) => action)).toEqual([
      "directory.group.create",
      "directory.group.update",
      "directory.group.update",
      "directory.group.update",
      "directory.group.delete",
    ]);
  });

  it("takes users of its own directory alone, all of a request or none", async () => {
    const own = await newDirectory(cluster, tenant.admin.api);
    const other = await newDirectory(cluster, tenant.admin.api);
    const [mine, theirs] = [await userIn(own.scim), await userIn(other.scim)];
    const id = await groupIn(own.scim);
    for (const value of [theirs, randomUUID(), "nobody"]) {
      const half = patchOf(
        { op: "add", path: "members", value: [{ value: mine }] },
        { op: "add", path: "members", value: [{ value }] },
      );
      expect([value, ...scimError(await own.scim("PATCH", `/Groups/${id}`, half))]).toEqual([
        value,
        400,
        "noTarget",
        true,
      ]);
    }
    expect(membersOf(await own.scim("GET", `/Groups/${id}`))).toEqual([]);
    expect(scimError(await other.scim("GET", `/Groups/${id}`))).toEqual([404, null, true]);
    const taken = await own.scim("POST", "/Groups", { displayName: "Staff" });
    const repeat = await own.scim("POST", "/Groups", { displayName: "STAFF" });
    expect([taken.status, ...scimError(repeat)]).toEqual([201, 409, "uniqueness", true]);
  });

  it("takes a body of 8 MiB: 100,000 members in one PUT", async () => {
    const { scim } = await newDirectory(cluster, tenant.admin.api);
    const [id, member] = [await groupIn(scim), await userIn(scim)];
    const put = (members: object[]) => scim("PUT", `/Groups/${id}`, { displayName: "Everybody", members });
    const repeated = await put(Array.from({ length: 100_000 }, () => ({ value: member })));
    expect([repeated.status, membersOf(repeated)]).toEqual([200, [member]]);
    const unknown = await put(Array.from({ length: 100_000 }, () => ({ value: randomUUID() })));
    expect(scimError(unknown)).toEqual([400, "noTarget", true]);
  });

  it("stands in lists without its members where it has more than 2,000, beside others with theirs", async () => {
    const { scim, id: directoryId } = await newDirectory(cluster, tenant.admin.api);
    const member = await userIn(scim);
    const [large, small] = [await groupIn(scim, [], "Large"), await groupIn(scim, [member], "Small")];
    await manyUsers(cluster, directoryId, large, 2_000);
    const listed = async (query = "") => {
      const { status, body } = await scim("GET", `/Groups${query}`);
      const groups = body.Resources as { id: string; members?: unknown[] }[];
      const counts = groups.map((group) => [group.id, group.members?.length ?? null]);
      return [status, body.totalResults, Object.fromEntries(counts)];
    };
    expect(await listed()).toEqual([200, 2, { [large]: 2_000, [small]: 1 }]);
    await scim("PATCH", `/Groups/${large}`, patchOf({ op: "add", path: "members", value: [{ value: member }] }));
    expect(await listed()).toEqual([200, 2, { [large]: null, [small]: 1 }]);
    expect(await listed("?attributes=members")).toEqual([200, 2, { [large]: null, [small]: 1 }]);
    expect(membersOf(await scim("GET", `/Groups/${large}`))).toHaveLength(2_001);
  });

  it("is searched by POST, alone and beside users", async () => {
    const { scim } = await newDirectory(cluster, tenant.admin.api);
    const [user, group] = [await userIn(scim, `a-${address()}`), await groupIn(scim)];
    const other = await userIn(scim, `b-${address()}`);
    const search = async (path: string, body: object = {}) => {
      const { status, body: found } = await scim("POST", `${path}/.search`, body);
      const { Resources = [], totalResults } = found as { Resources?: { id: string }[]; totalResults?: number };
      return [status, totalResults, Resources.map(({ id }) => id)];
    };
    expect(await search("/Groups")).toEqual([200, 1, [group]]);
    expect(await search("/Users", { filter: `id eq "${other}"`, attributes: ["userName"] })).toEqual([200, 1, [other]]);
    expect(await search("", { sortBy: "id" })).toEqual([200, 3, [user, other, group]]);
    expect(await search("", { startIndex: 2, count: 1 })).toEqual([200, 3, [other]]);
    expect(await search("", { startIndex: 3, count: 9 })).toEqual([200, 3, [group]]);
    expect(await search("", { startIndex: 4 })).toEqual([200, 3, []]);
    expect(await search("", { filter: "userName pr" })).toEqual([200, 2, [user, other]]);
    const shown = await scim("POST", "/Users/.search", { attributes: ["userName"], excludedAttributes: [] });
    expect(Object.keys((shown.body.Resources as object[])[0] ?? {}).sort()).toEqual(["id", "schemas", "userName"]);
    expect(scimError(await scim("POST", "/.search", { filter: "shoeSize pr" }))).toEqual([400, "invalidFilter", true]);
    expect(scimError(await scim("POST", "/Users/.search", { count: "x" }))).toEqual([400, "invalidSyntax", true]);
  });

  it("is read in pages however many members it has", async () => {
    const { scim } = await newDirectory(cluster, tenant.admin.api);
    const ids: string[] = [];
    for (let at = 0; at < 3; at++) ids.push(await userIn(scim));
    const id = await groupIn(scim, ids);
    expect(membersOf(await scim("GET", `/Groups/${id}`))).toEqual([...ids].sort());
    expect(membersOf(await scim("GET", `/Groups/${id}?excludedAttributes=members`))).toEqual([]);
  });
});

describe("a role mapping", () => {
  const mapped = async (directory: TestDirectory, ...rows: object[]) => {
    const reply = await call("PUT", `/directories/${directory.id}/mappings`, { mappings: rows });
    expect([reply.status, reply.body.code]).toEqual([200, undefined]);
    return reply.body.data as { id: string; inert: boolean }[];
  };

  it("gives and takes roles with the reply, while the session goes on", async () => {
    const directory = await newDirectory(cluster, tenant.admin.api, { defaultRoleId: roles.viewer });
    const { scim } = directory;
    const user = await signedInAs(cluster, "org-viewer", { orgId: tenant.orgId });
    expect(await userIn(scim, user.email)).toBe(user.id);
    const admins = await groupIn(scim, [user.id]);
    await mapped(directory, { groupId: admins, roleId: roles.admin });
    expect((await user.api.call("GET", "/directories")).status).toBe(200);
    const out = await scim(
      "PATCH",
      `/Groups/${admins}`,
      patchOf({ op: "remove", path: `members[value eq "${user.id}"]` }),
    );
    expect(out.status).toBe(204);
    expect((await user.api.call("GET", "/directories")).body.code).toBe("permission_denied");
    expect((await user.api.call("GET", "/auth/me")).status).toBe(200);
    await scim("PUT", `/Groups/${admins}`, { displayName: "Admins", members: [{ value: user.id }] });
    expect((await userOf(user.id)).role).toBe("org-admin");
    expect((await scim("DELETE", `/Groups/${admins}`)).status).toBe(204);
    expect((await userOf(user.id)).role).toBe("org-viewer");
    const rows = await auditRows(tenant.admin.api, tenant.orgId, user.id, 5);
    const changes = rows.filter(({ action }) => action === "user.permission.change");
    expect(changes.map(({ details }) => (details.via as { cause: string }).cause)).toEqual([
      "mapping",
      "group",
      "group",
      "group",
    ]);
  });

  it("decides by the first matching row, with the sites of all rows of that role", async () => {
    const directory = await newDirectory(cluster, tenant.admin.api);
    const { scim } = directory;
    const [berlin, rome] = [await newSite(cluster, tenant.orgId), await newSite(cluster, tenant.orgId)];
    const id = await userIn(scim);
    expect((await userOf(id)).status).toBe("disabled");
    const [g1, g2, g3] = [await groupIn(scim, [id]), await groupIn(scim, [id]), await groupIn(scim, [id])];
    await mapped(
      directory,
      { groupId: g1, roleId: roles.viewer, siteIds: [berlin] },
      { groupId: g2, roleId: roles.admin },
      { groupId: g3, roleId: roles.viewer, siteIds: [rome] },
    );
    const user = await userOf(id);
    expect([user.status, user.role, user.siteIds]).toEqual(["active", "org-viewer", [berlin, rome].sort()]);
    const tried = await call("GET", `/directories/${directory.id}/mappings/try?groupIds=${g2},${g3}`);
    expect(tried.body).toMatchObject({ role: "org-admin", siteIds: null });
    const none = await call("GET", `/directories/${directory.id}/mappings/try`);
    expect(none.body).toEqual({ roleId: null, role: null, siteIds: null, mappingId: null });
    await mapped(directory);
    expect((await userOf(id)).status).toBe("disabled");
  });

  it("grants only what its author holds, and nothing once its author has lost that", async () => {
    const directory = await newDirectory(cluster, tenant.admin.api);
    const { scim } = directory;
    const author = await enrolledAs(cluster, "org-admin", { orgId: tenant.orgId });
    const id = await userIn(scim);
    const admins = await groupIn(scim, [id]);
    const wanted = { mappings: [{ groupId: admins, roleId: roles.admin }] };
    expect((await author.api.call("PUT", `/directories/${directory.id}/mappings`, wanted)).status).toBe(200);
    expect((await userOf(id)).role).toBe("org-admin");

    const { body: lesser } = await call("POST", "/roles", {
      name: randomUUID(),
      permissions: ["directory:read", "directory:write", "users:write"],
    });
    await call("PATCH", `/users/${author.id}`, { roleId: lesser.id });
    const denied = await author.api.call("PUT", `/directories/${directory.id}/mappings`, {
      mappings: [...wanted.mappings, { claim: "admins", roleId: roles.admin }],
    });
    expect([denied.status, denied.body.code]).toEqual([403, "delegation_denied"]);
    const listed = await call("GET", `/directories/${directory.id}/mappings`);
    expect(listed.body.data).toMatchObject([{ groupId: admins, inert: true }]);
    await scim(
      "PATCH",
      `/Groups/${admins}`,
      patchOf({ op: "add", path: "members", value: [{ value: await userIn(scim) }] }),
    );
    expect((await userOf(id)).role).toBe("org-admin");
    await scim("PUT", `/Groups/${admins}`, { displayName: "Renamed", members: [] });
    expect((await userOf(id)).status).toBe("disabled");
  });

  it("is not taken over by the name of a group: rows name ids", async () => {
    const directory = await newDirectory(cluster, tenant.admin.api);
    const { scim } = directory;
    const id = await userIn(scim);
    const [admins, others] = [await groupIn(scim, [], "Admins"), await groupIn(scim, [id], "Others")];
    await mapped(directory, { groupId: admins, roleId: roles.admin });
    await scim("DELETE", `/Groups/${admins}`);
    const renamed = await scim(
      "PATCH",
      `/Groups/${others}`,
      patchOf({ op: "replace", path: "displayName", value: "Admins" }),
    );
    expect([renamed.status, (await userOf(id)).status]).toEqual([204, "disabled"]);
    expect((await call("GET", `/directories/${directory.id}/mappings`)).body.data).toEqual([]);
  });

  it("names each wrong field, and no group of another directory", async () => {
    const [own, other] = [await newDirectory(cluster, tenant.admin.api), await newDirectory(cluster, tenant.admin.api)];
    const foreign = await groupIn(other.scim);
    const put = (row: object) => call("PUT", `/directories/${own.id}/mappings`, { mappings: [row] });
    expect(fieldsOf((await put({ roleId: roles.viewer })).body)).toEqual(["mappings.0.groupId"]);
    expect(fieldsOf((await put({ groupId: foreign, claim: "x", roleId: roles.viewer })).body)).toEqual([
      "mappings.0.groupId",
    ]);
    expect(fieldsOf((await put({ groupId: foreign, roleId: roles.viewer })).body)).toEqual(["mappings.0.groupId"]);
    expect((await put({ claim: "x", roleId: randomUUID() })).body.code).toBe("role_not_found");
  });
});

describe("the last administrator of an organization", () => {
  it("is neither deactivated nor deleted by a directory, nor loses the role to a mapping", async () => {
    const { tenantWithAdmins } = await import("../support/tenant-with-admins.ts");
    const { admin, orgId, partnerAdmin } = await tenantWithAdmins(cluster);
    const directory = await newDirectory(cluster, partnerAdmin.api, { orgId });
    const { scim } = directory;
    const made = await scim("POST", "/Users", entraUser(admin.email));
    expect([made.status, made.body.id]).toEqual([201, admin.id]);
    const stored = async () => (await partnerAdmin.api.call("GET", `/users/${admin.id}`)).body;
    expect(await stored()).toMatchObject({ role: "org-admin", status: "active" });
    const off = await scim("PATCH", `/Users/${admin.id}`, patchOf({ op: "replace", value: { active: false } }));
    expect([scimError(off), (await scim("GET", `/Users/${admin.id}`)).body.active]).toEqual([[409, null, true], true]);
    expect(scimError(await scim("DELETE", `/Users/${admin.id}`))).toEqual([409, null, true]);
    expect(await stored()).toMatchObject({ role: "org-admin", status: "active" });
    const rows = await auditRows(partnerAdmin.api, orgId, admin.id, 3);
    const denied = rows.filter((row) => (row as unknown as { result: string }).result === "denied");
    expect(denied.map(({ action }) => action)).toEqual(["user.permission.change", "user.disable", "user.delete"]);
  });
});
