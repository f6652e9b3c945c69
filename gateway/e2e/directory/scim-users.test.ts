import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { api } from "../support/client.ts";
import { newKey } from "../support/keys.ts";
import { ownTenant } from "../support/own-tenant.ts";
import {
  enterpriseUrn,
  entraUser,
  newDirectory,
  patchOf,
  scimClient,
  scimError,
  type TestDirectory,
  userUrn,
} from "../support/scim.ts";
import { auditRows } from "../support/tenant-with-admins.ts";
import { operator, roleId, signedInAs } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();
let viewer = "";
let directory: TestDirectory;
const address = () => `${randomUUID()}@directory.example`;

beforeAll(async () => {
  viewer = await roleId(tenant.admin.api, "org-viewer");
  directory = await newDirectory(cluster, tenant.admin.api, { preset: "entra", defaultRoleId: viewer });
}, 180_000);

const userOf = async (id: string) => (await call("GET", `/users/${id}`)).body;

describe("a user of a directory", () => {
  it("goes through Entra's test, first cycle, update, disable and delete", async () => {
    const { scim } = directory;
    const userName = address();
    const empty = await scim("GET", `/Users?filter=${encodeURIComponent(`userName eq "${randomUUID()}"`)}`);
    expect([empty.status, empty.body]).toEqual([
      200,
      {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        totalResults: 0,
        startIndex: 1,
        itemsPerPage: 0,
        Resources: [],
      },
    ]);
    const sent = entraUser(userName);
    const made = await scim("POST", "/Users?aadOptscim062020", sent);
    expect([made.status, made.body.detail]).toEqual([201, undefined]);
    const id = String(made.body.id);
    expect(made.headers.get("location")).toMatch(new RegExp(`/api/v1/scim/v2/Users/${id}$`));
    expect([made.headers.get("etag"), (made.body.meta as { version: string }).version]).toEqual(['W/"1"', 'W/"1"']);
    expect(made.body).toMatchObject({
      schemas: [userUrn, enterpriseUrn],
      userName,
      externalId: sent.externalId,
      active: true,
      [enterpriseUrn]: { department: "Engines" },
    });
    expect(made.body.roles).toBeUndefined();
    expect(await userOf(id)).toMatchObject({
      email: userName,
      name: "Ada Lovelace",
      department: "Engines",
      status: "active",
      roleId: viewer,
      emailProven: false,
    });
    const found = await scim("GET", `/Users?filter=${encodeURIComponent(`userName eq "${userName.toUpperCase()}"`)}`);
    expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id }] });
    expect((await scim("GET", `/Users/${id}`)).body).toEqual(made.body);

    const changed = await scim(
      "PATCH",
      `/Users/${id}`,
      patchOf(
        { op: "Replace", path: "displayName", value: "Augusta King" },
        { op: "Add", path: `${enterpriseUrn}:manager`, value: randomUUID() },
      ),
    );
    expect([changed.status, changed.body.displayName, changed.headers.get("etag")]).toEqual([
      200,
      "Augusta King",
      'W/"2"',
    ]);
    expect((await userOf(id)).name).toBe("Augusta King");
    const disabled = await scim("PATCH", `/Users/${id}`, patchOf({ op: "Replace", path: "active", value: "False" }));
    expect([disabled.status, disabled.body.active, (await userOf(id)).status]).toEqual([200, false, "disabled"]);
    const enabled = await scim("PATCH", `/Users/${id}`, patchOf({ op: "replace", value: { active: true } }));
    expect([enabled.body.active, (await userOf(id)).status]).toEqual([true, "active"]);
    expect((await scim("DELETE", `/Users/${id}`)).status).toBe(204);
    expect(scimError(await scim("GET", `/Users/${id}`))).toEqual([404, null, true]);
    expect((await call("GET", `/users/${id}`)).status).toBe(404);

    const rows = await auditRows(tenant.admin.api, tenant.orgId, id, 5);
    expect(rows.map(({ action }) => action)).toEqual([
      "user.create",
      "user.update",
      "user.disable",
      "user.enable",
      "user.delete",
    ]);
    for (const { details } of rows) expect(details).toMatchObject({ via: { directoryId: directory.id } });
  });

  it("is created once: names, external ids and addresses are unique across letter case", async () => {
    const { scim } = directory;
    const userName = address();
    const first = entraUser(userName);
    const { body } = await scim("POST", "/Users", first);
    const repeats = [
      first,
      entraUser(userName.toUpperCase(), { emails: [] }),
      entraUser(address(), { externalId: first.externalId }),
      entraUser(randomUUID(), { emails: [{ value: userName.toUpperCase(), type: "work" }] }),
    ];
    for (const repeat of repeats)
      expect(scimError(await scim("POST", "/Users", repeat))).toEqual([409, "uniqueness", true]);
    const other = await scim("POST", "/Users", entraUser(address()));
    const taken = patchOf({ op: "replace", path: "userName", value: userName.toUpperCase() });
    expect(scimError(await scim("PATCH", `/Users/${other.body.id}`, taken))).toEqual([409, "uniqueness", true]);
    expect((await scim("GET", `/Users/${other.body.id}`)).body).toEqual(other.body);
    expect((await scim("GET", `/Users/${body.id}`)).body).toEqual(body);
  });

  it("needs no address: its account gets one that is nobody's mailbox", async () => {
    const name = randomUUID();
    const made = await directory.scim("POST", "/Users", { schemas: [userUrn], userName: name });
    expect([made.status, made.body.userName]).toEqual([201, name]);
    expect(await userOf(String(made.body.id))).toMatchObject({
      email: `${made.body.id}@directory.invalid`,
      name,
      status: "active",
    });
  });

  it("loses its sessions before the reply that deactivates it, and its keys stay", async () => {
    const root = await operator(cluster);
    const user = await signedInAs(cluster, "org-admin", { orgId: tenant.orgId });
    const made = await directory.scim("POST", "/Users", entraUser(user.email));
    expect([made.status, made.body.id]).toEqual([201, user.id]);
    expect((await user.api.call("GET", "/auth/me")).status).toBe(200);
    const { key } = await newKey(root, tenant.orgId, { scopes: ["devices:read"] });
    const { deviceCode, userCode } = (await api(cluster).call("POST", "/auth/device", { clientName: "laptop" })).body;
    expect((await user.api.call("POST", "/auth/device/approve", { userCode })).status).toBe(200);
    const off = await directory.scim(
      "PATCH",
      `/Users/${user.id}`,
      patchOf({ op: "Replace", path: "active", value: "False" }),
    );
    expect(off.status).toBe(200);
    expect((await user.api.call("GET", "/auth/me")).status).toBe(401);
    const refresh = await user.api.call("POST", "/auth/refresh", { refreshToken: user.refreshToken });
    expect(refresh.status).toBe(401);
    const client = await api(cluster).call("POST", "/auth/device/token", { deviceCode });
    expect([client.status, client.body.code]).toEqual([400, "access_denied"]);
    expect((await root.call("GET", "/auth/me", undefined, { authorization: "", "x-api-key": key })).status).toBe(200);
  });

  it("is not managed by hand", async () => {
    const made = await directory.scim("POST", "/Users", entraUser(address()));
    const path = `/users/${made.body.id}`;
    for (const [method, at, body] of [
      ["PATCH", path, { name: "By hand" }],
      ["POST", `${path}/disable`, undefined],
      ["POST", `${path}/enable`, undefined],
      ["DELETE", path, undefined],
    ] as const) {
      const reply = await call(method, at, body);
      expect([method, reply.status, reply.body.code]).toEqual([method, 403, "managed_by_directory"]);
    }
    expect((await userOf(String(made.body.id))).managedBy).toEqual({ id: directory.id, name: expect.any(String) });
  });

  it("has no access while no role is given", async () => {
    const bare = await newDirectory(cluster, tenant.admin.api);
    const made = await bare.scim("POST", "/Users", entraUser(address()));
    expect([made.body.active, (await userOf(String(made.body.id))).status]).toEqual([true, "disabled"]);
  });
});

describe("a list of users", () => {
  it("is filtered, sorted and paged; only stored attributes may be named", async () => {
    const { scim } = await newDirectory(cluster, tenant.admin.api);
    const names = ["a", "b", "c"].map((letter) => `${letter}-${randomUUID()}`);
    for (const [at, userName] of names.entries()) {
      await scim(
        "POST",
        "/Users",
        entraUser(userName, { emails: [{ value: `${userName}@x.example`, type: at === 0 ? "home" : "work" }] }),
      );
    }
    const namesBy = async (query: Record<string, string>) => {
      const { status, body } = await scim("GET", `/Users?${new URLSearchParams(query)}`);
      expect([query, status]).toEqual([query, 200]);
      return ((body.Resources ?? []) as { userName: string }[]).map(({ userName }) => userName);
    };
    const [a, b, c] = names as [string, string, string];
    expect(await namesBy({})).toEqual(names);
    expect(await namesBy({ startIndex: "2", count: "1" })).toEqual([b]);
    expect(await namesBy({ count: "0" })).toEqual([]);
    expect(await namesBy({ sortBy: "userName", sortOrder: "descending" })).toEqual([c, b, a]);
    expect(await namesBy({ filter: `userName sw "b" or userName eq "${c}"` })).toEqual([b, c]);
    expect(await namesBy({ filter: `not (userName eq "${a}") and active eq true` })).toEqual([b, c]);
    expect(await namesBy({ filter: 'emails[type eq "home"]' })).toEqual([a]);
    expect(await namesBy({ filter: `emails[type eq "work"].value eq "${b}@X.example"` })).toEqual([b]);
    expect(await namesBy({ filter: `emails eq "${a}@x.example"` })).toEqual([a]);
    expect(await namesBy({ filter: 'meta.lastModified gt "2020-01-01T00:00:00Z" and externalId pr' })).toEqual(names);
    expect(await namesBy({ filter: `${enterpriseUrn}:department eq "engines" and name.familyName co "LOVE"` })).toEqual(
      names,
    );
    const part = await scim("GET", "/Users?attributes=userName,emails.value&count=1");
    expect(Object.keys((part.body.Resources as object[])[0] ?? {}).sort()).toEqual([
      "emails",
      "id",
      "schemas",
      "userName",
    ]);
    for (const filter of ["shoeSize eq 1", "userName eq", "password pr", 'groups eq "x"', 'meta.created gt "x"']) {
      const reply = await scim("GET", `/Users?${new URLSearchParams({ filter })}`);
      expect([filter, ...scimError(reply)]).toEqual([filter, 400, "invalidFilter", true]);
    }
    expect(scimError(await scim("GET", "/Users?count=x"))).toEqual([400, "invalidValue", true]);
  });
});

describe("the protocol", () => {
  it("describes itself", async () => {
    const { scim } = directory;
    const config = await scim("GET", "/ServiceProviderConfig");
    expect(config.body).toMatchObject({
      patch: { supported: true },
      filter: { maxResults: 200 },
      etag: { supported: true },
    });
    const types = await scim("GET", "/ResourceTypes");
    expect((types.body.Resources as { id: string }[]).map(({ id }) => id)).toEqual(["User", "Group"]);
    const schemas = await scim("GET", "/Schemas");
    expect(schemas.body.totalResults).toBe(3);
    expect((await scim("GET", `/Schemas/${userUrn}`)).body.id).toBe(userUrn);
    expect(scimError(await scim("GET", "/Schemas/urn:nothing"))).toEqual([404, null, true]);
  });

  it("answers errors in SCIM's shape, whatever is wrong", async () => {
    const { scim } = directory;
    expect(scimError(await scim("GET", "/Nothing"))).toEqual([404, null, true]);
    expect(scimError(await scim("POST", "/Schemas", {}))).toEqual([405, null, true]);
    expect(scimError(await scim("POST", "/Users", "{"))).toEqual([400, "invalidSyntax", true]);
    expect(scimError(await scim("POST", "/Users", []))).toEqual([400, "invalidSyntax", true]);
    expect(scimError(await scim("POST", "/Users", {}))).toEqual([400, "invalidValue", true]);
    expect(scimError(await scim("POST", "/Users", { userName: "x".repeat(2_000) }))).toEqual([
      400,
      "invalidValue",
      true,
    ]);
    expect(scimError(await scim("PATCH", "/Users/none", patchOf()))).toEqual([404, null, true]);
    expect(scimError(await scim("POST", "/Users", {}, { "content-type": "text/plain" }))).toEqual([415, null, true]);
  });

  it("admits its own token alone, and ends it at once", async () => {
    const own = await newDirectory(cluster, tenant.admin.api);
    const anonymous = await fetch(`${cluster.url}/api/v1/scim/v2/Users`);
    expect([anonymous.status, anonymous.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    const asAdmin = scimClient(cluster, tenant.admin.accessToken);
    expect(scimError(await asAdmin("GET", "/Users"))).toEqual([401, null, true]);
    const elsewhere = await fetch(`${cluster.url}/api/v1/users`, { headers: { authorization: `Bearer ${own.token}` } });
    expect(elsewhere.status).toBe(401);
    expect((await own.scim("GET", "/Users")).status).toBe(200);
    const { body } = await call("POST", `/directories/${own.id}/tokens`, { graceHours: 0 });
    expect(scimError(await own.scim("GET", "/Users"))).toEqual([401, null, true]);
    const fresh = scimClient(cluster, String(body.token));
    await call("POST", `/directories/${own.id}/status`, { status: "paused" });
    const paused = await fresh("GET", "/Users");
    expect([...scimError(paused), paused.headers.get("retry-after")]).toEqual([503, null, true, "300"]);
    await call("POST", `/directories/${own.id}/status`, { status: "active" });
    expect((await fresh("GET", "/Users")).status).toBe(200);
    await call("DELETE", `/directories/${own.id}/tokens`);
    expect((await fresh("GET", "/Users")).status).toBe(401);
  });

  it("changes a resource only in the version that If-Match names", async () => {
    const { scim } = directory;
    const { body } = await scim("POST", "/Users", entraUser(address()));
    const rename = patchOf({ op: "replace", path: "title", value: "Countess" });
    const stale = await scim("PATCH", `/Users/${body.id}`, rename, { "if-match": 'W/"7"' });
    expect(scimError(stale)).toEqual([412, null, true]);
    expect((await scim("PATCH", `/Users/${body.id}`, rename, { "if-match": 'W/"1"' })).status).toBe(200);
    const unchanged = await scim("GET", `/Users/${body.id}`, undefined, { "if-none-match": 'W/"2"' });
    expect(unchanged.status).toBe(304);
    expect((await scim("PATCH", `/Users/${body.id}`, patchOf())).status).toBe(204);
  });

  it("shows a directory nothing of another one, of the same tenant, too", async () => {
    const other = await newDirectory(cluster, tenant.admin.api);
    const { body } = await directory.scim("POST", "/Users", entraUser(address()));
    const patch = patchOf({ op: "replace", path: "active", value: false });
    for (const [method, sent] of [["GET"], ["PUT", entraUser(address())], ["PATCH", patch], ["DELETE"]] as const) {
      expect(scimError(await other.scim(method, `/Users/${body.id}`, sent))).toEqual([404, null, true]);
    }
    expect((await other.scim("GET", "/Users")).body.totalResults).toBe(0);
    expect((await directory.scim("GET", `/Users/${body.id}`)).body).toEqual(body);
  });
});
