import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { callers } from "@muster/testing";
import { codeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";

let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());

describe("a refusal reported by a gateway", () => {
  it("is audited about a record that the refused user can see, once a minute", async () => {
    const partnerId = await identity.addPartner();
    const orgId = await identity.addOrganization(partnerId);
    const person = await identity.person(callers.orgAdmin(partnerId, orgId));
    const stranger = await identity.person(callers.orgAdmin(partnerId, await identity.addOrganization(partnerId)));
    const told = { action: "user.disable", code: "mfa_required", id: person.actor.id };
    const tell = (by: typeof person) => identity.port.client(RefusalService, by).noteRefusal(told);
    await Promise.all(Array.from({ length: 5 }, () => tell(person)));
    await tell(stranger);
    const rows = await identity.auditOf(person.actor.id);
    // The row of an unrelated caller reveals nothing of a user whom they cannot see.
    expect(rows.map((row) => [row.action, row.result, row.chainId, row.actorId])).toEqual([
      ["user.disable", "denied", orgId, person.actor.id],
    ]);
  });

  it("is rejected for any other content", async () => {
    const person = await identity.person(callers.platformAdmin());
    const client = identity.port.client(RefusalService, person);
    for (const bad of [
      { action: "organization.delete", code: "mfa_required" },
      { action: "user.x y", code: "mfa_required" },
      { action: "constructor", code: "mfa_required" },
      { action: "user.disable", code: "user_not_found" },
      { action: "user.disable", code: "nonsense" },
    ]) {
      expect([bad, await codeOf(client.noteRefusal({ ...bad, id: uuidv7() }))]).toEqual([bad, "validation_failed"]);
    }
  });
});
