import { describe, expect, it } from "@jest/globals";
import { type Candidate, type Facts, whoIsLetIn } from "./who-is-let-in.ts";

const account = (change: Partial<Candidate> = {}): Candidate => ({
  userId: "u1",
  status: "active",
  hasPassword: true,
  linkedOtherwise: false,
  ...change,
});
const linked = { userId: "u1", status: "active" } as const;

/** In, or the reason, for each of: true, omitted; without and with a verified domain. */
function rowOf(facts: Partial<Facts>): string[] {
  const all = [
    [true, false],
    [null, false],
    [true, true],
    [null, true],
  ] as const;
  return all.map(([emailVerified, domainVerified]) => {
    const verdict = whoIsLetIn({
      provisions: "on",
      linked: null,
      found: null,
      isForeign: false,
      ...facts,
      emailVerified,
      domainVerified,
    });
    return verdict.kind === "refused" ? verdict.reason : verdict.kind === "in" ? verdict.how : verdict.kind;
  });
}

describe("the sign-in decision", () => {
  it.each<[string, Partial<Facts>, string[]]>([
    ["linked", { linked }, ["linked", "linked", "linked", "linked"]],
    [
      "linked and disabled",
      { linked: { userId: "u1", status: "disabled" } },
      ["user_disabled", "user_disabled", "user_disabled", "user_disabled"],
    ],
    ["an account with a password", { found: account() }, ["link_required", "link_required", "matched", "matched"]],
    [
      "an account without a password",
      { found: account({ hasPassword: false }) },
      ["matched", "domain_not_verified", "matched", "matched"],
    ],
    [
      "an invitation",
      { found: account({ status: "invited", hasPassword: false }) },
      ["accepted", "domain_not_verified", "accepted", "accepted"],
    ],
    [
      "a disabled account",
      { found: account({ status: "disabled" }) },
      ["user_disabled", "user_disabled", "user_disabled", "user_disabled"],
    ],
    [
      "an account that is linked to another identity at the provider",
      { found: account({ hasPassword: false, linkedOtherwise: true }) },
      ["link_required", "link_required", "link_required", "link_required"],
    ],
    ["linked, in another tenant's domain", { linked, isForeign: true }, ["linked", "linked", "linked", "linked"]],
    ...[account(), account({ status: "invited" }), null].map((found): [string, Partial<Facts>, string[]] => [
      `${found?.status ?? "no account"}, in another tenant's domain`,
      { found, isForeign: true },
      Array<string>(4).fill("domain_not_allowed"),
    ]),
    ["no account, of an organization", {}, ["provision", "domain_not_verified", "provision", "provision"]],
    [
      "no account, without automatic accounts",
      { provisions: "off" },
      ["user_not_found", "user_not_found", "user_not_found", "user_not_found"],
    ],
    [
      "no account, of a partner",
      { provisions: "never" },
      ["invite_required", "invite_required", "invite_required", "invite_required"],
    ],
  ])("%s", (_case, facts, expected) => {
    expect(rowOf(facts)).toEqual(expected);
  });

  it.each<[string, Partial<Facts>]>([
    ["linked", { linked }],
    ["an account", { found: account() }],
    ["an invitation", { found: account({ status: "invited" }) }],
    ["no account", {}],
  ])("an address that the provider calls unverified is refused: %s", (_case, facts) => {
    const base = { provisions: "on", linked: null, found: null, isForeign: false, domainVerified: true } as const;
    expect(whoIsLetIn({ ...base, ...facts, emailVerified: false })).toEqual({
      kind: "refused",
      reason: "email_unverified",
    });
  });
});
