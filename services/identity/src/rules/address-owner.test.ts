import { describe, expect, it } from "@jest/globals";
import {
  type Claim,
  checkClaim,
  checkInvitation,
  domainsOf,
  type Holder,
  type Tenant,
  yieldedEmail,
  yieldsToDomain,
} from "./address-owner.ts";

// A partner with two organizations, another one with one, and the platform.
const tenants = {
  platform: { partnerId: null, orgId: null },
  partner: { partnerId: "p1", orgId: null },
  organization: { partnerId: "p1", orgId: "o1" },
  sibling: { partnerId: "p1", orgId: "o2" },
  "other partner": { partnerId: "p2", orgId: null },
  "other tenant": { partnerId: "p2", orgId: "o3" },
} as const satisfies Record<string, Tenant>;
type Name = keyof typeof tenants;
const names = Object.keys(tenants) as Name[];

/** Who counts as the owner of what each has verified: itself, its partner, the platform. */
const ownersFor: Record<Exclude<Name, "platform">, readonly Name[]> = {
  partner: ["partner", "platform"],
  organization: ["organization", "partner", "platform"],
  sibling: ["sibling", "partner", "platform"],
  "other partner": ["other partner", "platform"],
  "other tenant": ["other tenant", "other partner", "platform"],
};
const owners = [null, ...(Object.keys(ownersFor) as Exclude<Name, "platform">[])];
const proofs = [null, "assumed", "domain", "mailbox", "operator"] as const satisfies readonly Holder["proof"][];
const holders = [null, ...names.flatMap((tenant) => proofs.map((proof) => ({ tenant, proof })))];
const email = "ada@example.com";

type Case = { by: Name; owner: (typeof owners)[number]; holder: (typeof holders)[number]; evidence: Claim["evidence"] };
const cases: Case[] = names.flatMap((by) =>
  owners.flatMap((owner) =>
    holders.flatMap((holder) => (["none", "mailbox"] as const).map((evidence) => ({ by, owner, holder, evidence }))),
  ),
);

const check = ({ by, owner, holder, evidence }: Case) =>
  checkClaim({
    email,
    by: tenants[by],
    owner: owner && tenants[owner],
    holders: holder ? [{ userId: "h", tenant: tenants[holder.tenant], proof: holder.proof }] : [],
    evidence,
  });

const mayOwn = ({ by, owner }: Pick<Case, "by" | "owner">) => owner === null || ownersFor[owner].includes(by);
const nameOf = ({ by, owner, holder, evidence }: Case) =>
  `${by} (${evidence}), domain of ${owner ?? "nobody"}, ${holder ? `${holder.proof ?? "unproven"} account at ${holder.tenant}` : "free"}`;

/** Cases that break a promise, by name. */
const broken = (promise: (each: Case) => boolean) => cases.filter((each) => !promise(each)).map(nameOf);

describe(`a claim of an address, in ${cases.length} cases of tenant, domain, evidence and holder`, () => {
  it("is refused in a domain that neither the claimant nor a tenant below it has verified", () => {
    expect(broken((each) => mayOwn(each) || check(each) === null)).toEqual([]);
  });

  it("is never refused for an account that is not proven, nor for a free address", () => {
    expect(broken((each) => !mayOwn(each) || Boolean(each.holder?.proof) || check(each) !== null)).toEqual([]);
  });

  it("is refused for a proven mailbox and for the platform's administrators, whoever claims and however", () => {
    const isKept = (proof: unknown) => proof === "mailbox" || proof === "operator";
    expect(broken((each) => !isKept(each.holder?.proof) || check(each) === null)).toEqual([]);
  });

  it("takes an address that only a former domain or age proves, when its domain is the claimant's", () => {
    const isInside = ({ owner, holder }: Case) =>
      owner !== null &&
      holder !== null &&
      (ownersFor[owner].includes(holder.tenant) ||
        (tenants[owner].orgId === null && tenants[owner].partnerId === tenants[holder.tenant].partnerId));
    const isWeak = (each: Case) => each.holder?.proof === "domain" || each.holder?.proof === "assumed";
    const isTaken = (each: Case) => check(each)?.yielding.length === 1;
    const shouldYield = (each: Case) =>
      each.owner !== null && each.by !== "platform" && mayOwn(each) && !isInside(each);
    expect(broken((each) => !isWeak(each) || isTaken(each) === shouldYield(each))).toEqual([]);
  });

  it("proves the address by mailbox, by the claimant's domain, as the platform, or not at all", () => {
    const expected = ({ by, owner, evidence }: Case) =>
      by === "platform" ? "operator" : evidence === "mailbox" ? "mailbox" : owner === null ? null : "domain";
    expect(
      broken((each) => {
        const claimed = check(each);
        return claimed === null || claimed.proof === expected(each);
      }),
    ).toEqual([]);
  });

  it("takes nobody's address without a proof", () => {
    expect(
      broken((each) => {
        const claimed = check(each);
        return claimed === null || claimed.proof !== null || claimed.yielding.length === 0;
      }),
    ).toEqual([]);
  });
});

describe("an invitation", () => {
  it("depends on the domain alone, never on an account", () => {
    for (const by of names) {
      for (const owner of owners) {
        const invited = checkInvitation({ email, by: tenants[by], owner: owner && tenants[owner] });
        expect([by, owner, invited !== null]).toEqual([by, owner, mayOwn({ by, owner })]);
      }
    }
  });
});

describe("a verified domain", () => {
  it.each<[Name, (typeof proofs)[number], boolean]>([
    ["other tenant", null, true],
    ["other tenant", "assumed", true],
    ["other tenant", "domain", true],
    ["other tenant", "mailbox", false],
    ["sibling", null, true],
    ["partner", null, false],
    ["organization", null, false],
  ])("in an organization makes an account at %s with proof %s yield: %s", (tenant, proof, yields) => {
    expect(yieldsToDomain({ proof, tenant: tenants[tenant] }, tenants.organization)).toBe(yields);
  });

  it("spares the organizations of a partner", () => {
    expect(yieldsToDomain({ proof: null, tenant: tenants.organization }, tenants.partner)).toBe(false);
  });
});

describe("the domains of an address", () => {
  it.each([
    ["a@b.example.com", ["b.example.com", "example.com"]],
    ["a@EXAMPLE.com.", ["example.com"]],
    ["a@bücher.example", ["xn--bcher-kva.example"]],
    ["a@localhost", []],
    ["@example.com", []],
  ])("%s", (address, domains) => {
    expect(domainsOf(address)).toEqual(domains);
  });
});

describe("an address that was given up", () => {
  it("is unique, fits the column, and is nobody's mailbox", () => {
    const id = "01890000-0000-7000-8000-0123456789ab";
    expect(yieldedEmail("ada@example.com", id)).toBe("ada@example.com.0123456789ab.invalid");
    expect(yieldedEmail(`${"a".repeat(64)}@${"b".repeat(190)}`, id).length).toBeLessThanOrEqual(255);
  });
});
