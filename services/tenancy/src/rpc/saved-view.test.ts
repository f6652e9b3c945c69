import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, systemCaller, uuidv7 } from "@muster/kit";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { SavedViewService } from "@muster/proto/muster/tenancy/v1/saved_view_pb";
import { callers, outcome } from "@muster/testing";
import { purgeOnce } from "../jobs/purge.ts";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.stop());

const views = (caller: Caller) => fleet.port.client(SavedViewService, caller);
const wanted = { name: "Offline", resource: "devices", queryJson: '{"status":["offline"],"label":"role=server"}' };
const names = async (caller: Caller, filter: object = {}) =>
  (await views(caller).listSavedViews(filter)).views.map(({ name }) => name);

describe("a saved view", () => {
  it("is created, changed and deleted by its owner, each with an audit row", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const owner = callers.orgAdmin(partnerId, orgId, { permissions: [] });
    const { view } = await views(owner).createSavedView(wanted);
    const id = view?.id ?? "";
    const expected = {
      ...wanted,
      queryJson: expect.any(String),
      orgId,
      partnerId,
      ownerId: owner.actor.id,
      shared: false,
    };
    expect(view).toMatchObject(expected);
    expect(JSON.parse(view?.queryJson ?? "")).toEqual(JSON.parse(wanted.queryJson));
    const change = { id, updateMask: { paths: ["name", "query_json"] }, view: { name: "All", queryJson: "{}" } };
    expect((await views(owner).updateSavedView(change)).view).toMatchObject({ name: "All", queryJson: "{}" });
    expect((await views(owner).getSavedView({ id })).view).toMatchObject({ name: "All", resource: "devices" });
    await views(owner).deleteSavedView({ id });
    expect(await outcome(views(owner).getSavedView({ id }))).toBe("saved_view_not_found");
    const { audits } = await fleet.messagesOf(id);
    expect(audits.map(({ action, chainId }) => [action, chainId])).toEqual(
      ["create", "update", "delete"].map((what) => [`saved_view.${what}`, orgId]),
    );
  });

  it("is visible to its owner alone until it is shared, and then to all with access to its tenant", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const neighbour = await fleet.tenant();
    const sibling = await fleet.organization(partnerId);
    const owner = callers.partnerAdmin(partnerId, { permissions });
    const viewers: [string, Caller, boolean][] = [
      ["its organization", callers.orgAdmin(partnerId, orgId, { permissions: [] }), true],
      ["the partner", callers.partnerAdmin(partnerId), true],
      ["the partner, granted", callers.partnerWithList(partnerId, [orgId]), true],
      ["the platform", callers.platformAdmin(), true],
      ["the partner, not granted", callers.partnerWithList(partnerId, [sibling]), false],
      ["a sibling", callers.orgAdmin(partnerId, sibling), false],
      ["another partner", callers.partnerAdmin(neighbour.partnerId), false],
    ];
    const { view } = await views(owner).createSavedView({ ...wanted, orgId });
    const id = view?.id ?? "";
    const seenBy = async () => {
      const seen = [];
      for (const [who, caller] of viewers) {
        const isListed = (await names(caller, { search: "offline" })).length > 0;
        const isFound = (await outcome(views(caller).getSavedView({ id }))) === "ok";
        expect([who, isListed]).toEqual([who, isFound]);
        if (isFound) seen.push(who);
      }
      return seen;
    };
    expect(await seenBy()).toEqual([]);
    await views(owner).updateSavedView({ id, updateMask: { paths: ["shared"] }, view: { shared: true } });
    expect(await seenBy()).toEqual(viewers.filter(([, , sees]) => sees).map(([who]) => who));
    await fleet.port
      .client(OrganizationService, callers.platformAdmin({ permissions }))
      .deleteOrganization({ id: orgId });
    expect(await seenBy()).toEqual(["the platform"]);
    await purgeOnce({ db: fleet.database.db, days: 30, now: () => new Date(Date.now() + 31 * 86_400_000) });
    expect(await seenBy()).toEqual([]);
    const [row] = await fleet.database.db.read(
      { caller: systemCaller("tenancy") },
      sql`SELECT FROM saved_views WHERE id = ${id}::uuid`,
    );
    expect(row).toBeUndefined();
  });

  it("belongs to a partner or the platform, and is shared with their users", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const name = `shared ${uuidv7()}`;
    await views(callers.partnerAdmin(partnerId, { permissions })).createSavedView({ ...wanted, name, shared: true });
    await views(callers.platformAdmin({ permissions })).createSavedView({ ...wanted, name, shared: true });
    expect(await names(callers.partnerWithList(partnerId, []), { search: name })).toEqual([name]);
    expect(await names(callers.orgAdmin(partnerId, orgId), { search: name })).toEqual([]);
    expect(await names(callers.platformAdmin(), { search: name, resource: "devices" })).toEqual([name, name]);
    expect(await names(callers.platformAdmin(), { search: name, resource: "users" })).toEqual([]);
  });

  it("is shared and changed, when shared, with the permission for its tenant only", async () => {
    const { partnerId, orgId, siteId } = await fleet.tenant();
    const admin = callers.orgAdmin(partnerId, orgId, { permissions });
    const { view } = await views(admin).createSavedView({ ...wanted, shared: true });
    const id = view?.id ?? "";
    const attempts = async (caller: Caller) => [
      await outcome(views(caller).createSavedView({ ...wanted, shared: true })),
      await outcome(views(caller).updateSavedView({ id, updateMask: { paths: ["name"] }, view: { name: "Mine" } })),
      await outcome(views(caller).deleteSavedView({ id })),
    ];
    const three = (code: string) => [code, code, code];
    const limited = { permissions, siteIds: [siteId] };
    expect(await attempts(callers.orgAdmin(partnerId, orgId, { permissions: [] }))).toEqual(three("permission_denied"));
    expect(await attempts(callers.orgAdmin(partnerId, orgId, limited))).toEqual(three("site_restricted"));
    const granted = callers.partnerWithList(partnerId, [orgId], { permissions });
    expect(await outcome(views(granted).createSavedView({ ...wanted, shared: true }))).toBe("scope_not_allowed");
    expect(await attempts(callers.orgAdmin(partnerId, orgId, { permissions }))).toEqual(three("ok"));
  });

  it("is refused when it is not a view, not of a tenant in scope, or not a user's", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const neighbour = await fleet.tenant();
    const admin = callers.orgAdmin(partnerId, orgId, { permissions });
    const attempt = (change: object, caller = admin) =>
      outcome(views(caller).createSavedView({ ...wanted, ...change }));
    expect(await attempt({ name: "" })).toBe("validation_failed name");
    expect(await attempt({ resource: "Devices!" })).toBe("validation_failed resource");
    for (const queryJson of ["[]", "{", '{"a":1}', '{"a":["b",2]}', JSON.stringify({ a: "x".repeat(8_192) })]) {
      expect(await attempt({ queryJson })).toBe("validation_failed query");
    }
    for (const other of [neighbour.orgId, uuidv7(), "x"])
      expect(await attempt({ orgId: other })).toBe("organization_not_found");
    const key = callers.orgAdmin(partnerId, orgId, { permissions, actor: { type: "api_key" } });
    expect(await attempt({}, key)).toBe("user_session_required");
    expect(await outcome(views(admin).updateSavedView({ id: uuidv7() }))).toBe("no_updates");
    expect(await outcome(views(admin).listSavedViews({ orgId: neighbour.orgId }))).toBe("organization_not_found");
  });

  it("is one of 500 at most, for concurrent calls, too", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const owner = callers.orgAdmin(partnerId, orgId, { permissions });
    await fleet.database.db.tx({ caller: systemCaller("tenancy") }, (tx) =>
      tx.execute(sql`
        INSERT INTO saved_views (id, org_id, partner_id, owner_id, name, resource, query, shared, created_at, updated_at)
        SELECT gen_random_uuid(), ${orgId}::uuid, ${partnerId}::uuid, ${owner.actor.id}::uuid, 'V', 'devices', '{}', false, now(), now()
        FROM generate_series(1, 498)`),
    );
    const answers = await Promise.all(Array.from({ length: 6 }, () => outcome(views(owner).createSavedView(wanted))));
    expect(answers.sort()).toEqual([...Array(4).fill("limit_reached"), "ok", "ok"]);
  });
});
