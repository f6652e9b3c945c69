import { describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { testUser } from "../testing/ports.ts";
import { fromClaims, toClaims } from "./caller-claims.ts";

const linked = (change: Partial<Caller> = {}): Caller =>
  testUser({
    actor: { type: "portal", id: uuidv7(), email: null, name: "Portal", role: null, department: null },
    portal: { linkId: uuidv7(), capabilities: [], author: { type: "user", id: uuidv7(), name: "Ada" } },
    ...change,
  });
const read = (caller: Caller) => fromClaims({ ...toClaims(caller) });

describe("claims of a portal session", () => {
  it("carry the whole caller", () => {
    const caller = linked();
    expect(read(caller)).toEqual(caller);
  });

  const { portal, ...bare } = linked();
  it.each<[string, Caller, string]>([
    ["of a user", testUser(portal ? { portal } : {}), "claim portal does not fit the actor"],
    ["without its link", bare, "claim portal does not fit the actor"],
    ["of a partner", linked({ scope: "partner" }), "a portal session has another scope"],
    ["of no organization", linked({ orgId: null }), "a portal session has another scope"],
  ])("are refused %s", (_case, caller, message) => {
    expect(() => read(caller)).toThrow(message);
  });
});
