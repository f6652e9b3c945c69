import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7, zeroUuid } from "@muster/kit";
import { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { callers } from "@muster/testing";
import { codeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";

let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());

const tell = (by: Caller, refused: { action: string; code?: string; [field: string]: string | undefined }) =>
  identity.port.client(RefusalService, by).noteRefusal({ code: "permission_denied", message: "Refused", ...refused });

/** Denied rows of an actor: action, chain, type and id of the record. */
const deniedOf = async ({ actor }: Caller) =>
  (await identity.auditBy(actor.id))
    .filter(({ result }) => result === "denied")
    .map((row) => [row.action, row.chainId, row.resourceType, row.resourceId]);

async function tenant() {
  const partnerId = await identity.addPartner();
  const orgId = await identity.addOrganization(partnerId);
  return { partnerId, orgId };
}

describe("a refused change that a gateway reports", () => {
  it("is audited once per actor, action and minute, with its code, text and facts", async () => {
    const { partnerId, orgId } = await tenant();
    const user = await identity.user(callers.orgAdmin(partnerId, orgId));
    const { id } = user.actor;
    const refused = {
      action: "user.update",
      code: "delegation_denied",
      id,
      message: "You cannot",
      factsJson: '{"permissions":["devices:read"]}',
    };
    await Promise.all(Array.from({ length: 5 }, () => tell(user, refused)));
    await tell(user, { action: "user.delete", id });
    expect((await deniedOf(user)).map(([action]) => action)).toEqual(["user.update", "user.delete"]);
    const [row] = await identity.auditBy(id);
    expect(row).toMatchObject({ resourceName: user.actor.name, errorMessage: "You cannot", result: "denied" });
    expect(JSON.parse(row?.detailsJson ?? "")).toEqual({ code: "delegation_denied", permissions: ["devices:read"] });
    identity.clock.now = new Date(identity.clock.now.getTime() + 60_000);
    await tell(user, refused);
    expect(await deniedOf(user)).toHaveLength(3);
  });

  it("is in the chain of the record, where identity knows it and the caller sees it, else in the caller's", async () => {
    const { partnerId, orgId } = await tenant();
    const otherAdmin = await identity.user(callers.orgAdmin(partnerId, await identity.addOrganization(partnerId)));
    const admin = await identity.user(callers.partnerAdmin(partnerId));
    const some = await identity.user(callers.partnerWithList(partnerId, []));
    const platform = await identity.user(callers.platformAdmin());
    const user = await identity.user(callers.orgAdmin(partnerId, orgId));
    const { id } = user.actor;
    const webhook = uuidv7();

    await tell(otherAdmin, { action: "user.disable", id });
    // The row of an unrelated caller reveals nothing of a user whom they cannot see.
    expect(await deniedOf(otherAdmin)).toEqual([["user.disable", otherAdmin.orgId, "user", zeroUuid]]);

    await tell(admin, { action: "user.disable", id });
    await tell(admin, { action: "user.create", orgId });
    await tell(admin, { action: "organization.update", id: orgId });
    await tell(admin, { action: "webhook.delete", id: webhook });
    await tell(admin, { action: "agent_update.rollout.pause", resourceType: "rollout", id: webhook });
    expect(await deniedOf(admin)).toEqual([
      ["user.disable", orgId, "user", id],
      ["user.create", orgId, "user", zeroUuid],
      ["organization.update", orgId, "organization", orgId],
      ["webhook.delete", partnerId, "webhook", webhook],
      ["agent_update.rollout.pause", partnerId, "rollout", webhook],
    ]);

    await tell(some, { action: "organization.update", id: orgId });
    await tell(some, { action: "webhook.create", orgId });
    expect((await deniedOf(some)).map(([, chain]) => chain)).toEqual([partnerId, partnerId]);

    await tell(platform, { action: "partner.update", id: partnerId });
    await tell(platform, { action: "site.create", id: "not-an-id" });
    expect(await deniedOf(platform)).toEqual([
      ["partner.update", partnerId, "partner", partnerId],
      ["site.create", zeroUuid, "site", zeroUuid],
    ]);
  });

  it("is rejected for any other content, and from a service in its own name", async () => {
    const user = await identity.user(callers.platformAdmin());
    for (const bad of [
      { action: "organization" },
      { action: "user.x y" },
      { action: "user.disable", code: "nonsense" },
      { action: "user.disable", factsJson: "1" },
    ]) {
      expect([bad, await codeOf(tell(user, bad))]).toEqual([bad, "validation_failed"]);
    }
    expect(await codeOf(tell(identity.system.caller, { action: "user.disable" }))).toBe("permission_denied");
  });
});
