import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { verifiedDomain } from "../support/dns.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { entraUser, newDirectory, patchOf, scimError, type TestDirectory } from "../support/scim.ts";
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
