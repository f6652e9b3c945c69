import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { verifiedDomain } from "../support/dns.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { entraUser, newDirectory, patchOf, scimClient, scimError, type TestDirectory } from "../support/scim.ts";
import { tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { roleId, signedInAs } from "../support/users.ts";

const { cluster, tenant } = ownTenant();
const domain = `${randomUUID()}.example`;
let victim: Awaited<ReturnType<typeof tenantWithAdmins>>;
let directory: TestDirectory;

beforeAll(async () => {
  victim = await tenantWithAdmins(cluster);
  await verifiedDomain(cluster, victim.admin.api, domain);
  const defaultRoleId = await roleId(tenant.admin.api, "org-viewer");
  directory = await newDirectory(cluster, tenant.admin.api, { defaultRoleId });
}, 180_000);

const address = () => `${randomUUID()}@directory.example`;
const ofVictim = async (id: string) => (await victim.admin.api.call("GET", `/users/${id}`)).body;

describe("a directory that is turned against another tenant", () => {
  it("takes no address of a domain that the other has verified, by creation, name, e-mail or PUT", async () => {
    const { scim } = directory;
    const wanted = `ceo@${domain}`;
    expect(scimError(await scim("POST", "/Users", entraUser(wanted)))).toEqual([400, "invalidValue", true]);
    const hidden = entraUser(address(), { userName: wanted });
    expect(scimError(await scim("POST", "/Users", hidden))).toEqual([400, "invalidValue", true]);
    const below = entraUser(`ceo@mail.${domain.toUpperCase()}`);
    expect(scimError(await scim("POST", "/Users", below))).toEqual([400, "invalidValue", true]);
    const own = entraUser(address());
    const { body: made } = await scim("POST", "/Users", own);
    const path = `/Users/${made.id}`;
    const changes = [
      { op: "replace", path: "userName", value: wanted },
      { op: "replace", path: 'emails[type eq "work"].value', value: wanted },
      { op: "replace", value: { emails: [{ value: wanted, primary: true }] } },
    ];
    for (const change of changes) {
      const reply = await scim("PATCH", path, patchOf({ op: "replace", path: "title", value: "Half" }, change));
      expect(scimError(reply)).toEqual([400, "invalidValue", true]);
    }
    expect(scimError(await scim("PUT", path, { ...own, userName: wanted }))).toEqual([400, "invalidValue", true]);
    expect((await scim("GET", path)).body).toEqual(made);
  });

  it("learns of no account elsewhere, and changes none", async () => {
    const user = await signedInAs(cluster, "org-viewer", { orgId: victim.orgId });
    const before = await ofVictim(user.id);
    const made = await directory.scim("POST", "/Users", entraUser(user.email));
    expect([made.status, made.body.id === user.id]).toEqual([201, false]);
    const nobody = await directory.scim("POST", "/Users", entraUser(`nobody-${randomUUID()}@example.com`));
    expect(Object.keys(nobody.body).sort()).toEqual(Object.keys(made.body).sort());
    const off = patchOf({ op: "replace", value: { active: false } });
    expect((await directory.scim("PATCH", `/Users/${made.body.id}`, off)).status).toBe(200);
    expect((await directory.scim("DELETE", `/Users/${made.body.id}`)).status).toBe(204);
    expect(await ofVictim(user.id)).toEqual(before);
    expect((await user.api.call("GET", "/auth/me")).status).toBe(200);
  });

  it("gets nobody else's user by an external id that was used before", async () => {
    const externalId = randomUUID();
    const [first, other] = [directory, await newDirectory(cluster, victim.admin.api)];
    const theirs = await other.scim("POST", "/Users", entraUser(address(), { externalId }));
    const mine = await first.scim("POST", "/Users", entraUser(address(), { externalId }));
    expect([mine.status, mine.body.id === theirs.body.id]).toEqual([201, false]);
    expect((await first.scim("DELETE", `/Users/${mine.body.id}`)).status).toBe(204);
    const again = await first.scim("POST", "/Users", entraUser(address(), { externalId }));
    expect([again.status, again.body.id === mine.body.id]).toEqual([201, false]);
    expect((await other.scim("GET", `/Users/${theirs.body.id}`)).body).toEqual(theirs.body);
  });

  it("makes nobody an administrator of the partner or the platform: roles are of its own scope", async () => {
    const partnerRole = await roleId(tenant.partnerAdmin.api, "partner-admin");
    const rows = { mappings: [{ claim: "admins", roleId: partnerRole }] };
    const put = await tenant.partnerAdmin.api.call("PUT", `/directories/${directory.id}/mappings`, rows);
    expect([put.status, put.body.code]).toEqual([400, "validation_failed"]);
    const found = await directory.scim(
      "GET",
      `/Users?${new URLSearchParams({ filter: `userName eq "${tenant.partnerAdmin.email}"` })}`,
    );
    expect(found.body.totalResults).toBe(0);
  });
});

describe("a token that was stolen", () => {
  const count = 30;
  const each = <T>(work: (at: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, at) => work(at)));
  let stolen: TestDirectory;
  let admins: string;
  const ids: string[] = [];
  const externalIds: string[] = [];
  const groups: string[] = [];
  const everything = async () => [
    (await stolen.scim("GET", "/Users?sortBy=id")).body,
    (await stolen.scim("GET", "/Groups?sortBy=id")).body,
  ];

  beforeAll(async () => {
    const defaultRoleId = await roleId(tenant.admin.api, "org-viewer");
    stolen = await newDirectory(cluster, tenant.admin.api, { defaultRoleId });
    await each(async (at) => {
      const externalId = randomUUID();
      externalIds[at] = externalId;
      ids[at] = String((await stolen.scim("POST", "/Users", entraUser(address(), { externalId }))).body.id);
    });
    for (const displayName of ["Admins", "Staff", "Guests"]) {
      const members = ids.map((value) => ({ value }));
      const sent = { displayName, members: displayName === "Admins" ? [] : members };
      groups.push(String((await stolen.scim("POST", "/Groups", sent)).body.id));
    }
    [admins = ""] = groups;
    const mappings = [{ groupId: admins, roleId: await roleId(tenant.admin.api, "org-admin") }];
    const { status } = await tenant.admin.api.call("PUT", `/directories/${stolen.id}/mappings`, { mappings });
    if (status !== 200) throw new Error(`the mapping was answered with ${status}`);
  }, 180_000);

  it("takes over nobody in mass: by domain, external id, or the name of a group", async () => {
    const before = await everything();
    const patched = (path: string, attribute: string, value: string) =>
      stolen.scim("PATCH", path, patchOf({ op: "replace", path: attribute, value }));
    const replies = await each(async (at) => {
      const [user, next] = [`/Users/${ids[at]}`, externalIds[(at + 1) % count] ?? ""];
      const group = `/Groups/${groups[1 + (at % 2)]}`;
      return [
        scimError(await patched(user, "userName", `user-${at}@${domain}`)),
        scimError(await patched(user, "externalId", next)),
        scimError(await patched(group, "displayName", "ADMINS")),
      ];
    });
    const refused = [
      [400, "invalidValue", true],
      [409, "uniqueness", true],
      [409, "uniqueness", true],
    ];
    expect(replies).toEqual(replies.map(() => refused));
    expect(await everything()).toEqual(before);
    const { body } = await tenant.admin.api.call("GET", `/users/${ids[0]}`);
    expect(body.role).toBe("org-viewer");
  });

  it("opens no route once it was rotated, and changes nothing", async () => {
    const before = await everything();
    const rotated = await tenant.admin.api.call("POST", `/directories/${stolen.id}/tokens`, { graceHours: 0 });
    const [user, group] = [`/Users/${ids[0]}`, `/Groups/${admins}`];
    const off = patchOf({ op: "replace", value: { active: false } });
    const join = patchOf({ op: "add", path: "members", value: ids.map((value) => ({ value })) });
    const tried: [string, string, unknown?][] = [
      ["GET", "/Users"],
      ["GET", group],
      ["GET", "/ServiceProviderConfig"],
      ["POST", "/.search", {}],
      ["POST", "/Users", entraUser(address())],
      ["PUT", user, entraUser(address())],
      ["PATCH", user, off],
      ["PATCH", group, join],
      ["DELETE", user],
      ["DELETE", group],
    ];
    const replies = await Promise.all(tried.map((request) => stolen.scim(...request)));
    expect(replies.map(scimError)).toEqual(replies.map(() => [401, null, true]));
    expect(new Set(replies.map(({ body }) => body.detail)).size).toBe(1);
    stolen = { ...stolen, scim: scimClient(cluster, String(rotated.body.token)) };
    expect(await everything()).toEqual(before);
  });
});
