import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { callers, outcome } from "@muster/testing";
import { slug, startTenancy, type TestTenancy } from "../testing/tenancy.ts";

let tenancy: TestTenancy;
let ids: { partner: string; organization: string; site: string };
beforeAll(async () => {
  tenancy = await startTenancy();
  const partner = (await tenancy.partner()).id;
  const organization = await tenancy.organization(partner);
  ids = { partner, organization, site: await tenancy.site(organization) };
});
afterAll(async () => {
  await tenancy?.stop();
});

type Field = { key: string; path: string; shown: string; bad: unknown[] };

const nul = "a\0b";
const deep = `{"a":${"[".repeat(40)}${"]".repeat(40)}}`;
const objects = [
  "nonsense",
  "[]",
  "null",
  "1",
  '"text"',
  '{"a":"\\u0000"}',
  '{"\\u0000":1}',
  '{"a":"\\ud800"}',
  '{"a":{"__proto__":1}}',
  deep,
  JSON.stringify({ a: "x".repeat(64 * 1024) }),
  JSON.stringify({ a: "ä".repeat(40 * 1024) }),
];
const year = (n: number) => ({ seconds: BigInt(Date.UTC(n, 0, 1)) / 1000n, nanos: 0 });
const dates = [year(1000), { seconds: 10n ** 15n, nanos: 0 }, { seconds: -(10n ** 15n), nanos: 0 }];

const field = (key: string, path: string, shown: string, bad: unknown[]): Field => ({ key, path, shown, bad });
const name = field("name", "name", "name", ["", "  ", nul, "x".repeat(256), "x".repeat(1_000_000)]);
const slugs = field("slug", "slug", "slug", ["", "a b", "..", "ä", "-a", "a/b", nul, "a".repeat(101), "\ud83d\ude00"]);
const cap = (key: string, path: string) => field(key, path, key, [-1, -(2 ** 31)]);
const oneOf = (key: string) => field(key, key, key, ["other", "ACTIVE", nul, "x".repeat(1_000_000)]);
const object = (key: string) =>
  field(`${key}Json`, `${key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)}_json`, key, objects);

/** Every field that a creation or a change accepts. */
const fields = {
  partner: [
    name,
    slugs,
    oneOf("type"),
    oneOf("plan"),
    oneOf("status"),
    cap("maxOrganizations", "max_organizations"),
    cap("maxDevices", "max_devices"),
    field("billingEmail", "billing_email", "billingEmail", [nul, "x".repeat(256)]),
    object("settings"),
    object("ssoConfig"),
  ],
  organization: [
    name,
    slugs,
    oneOf("type"),
    oneOf("status"),
    cap("maxDevices", "max_devices"),
    object("settings"),
    object("ssoConfig"),
    object("billingContact"),
    field("contractStart", "contract_start", "contractStart", dates),
    field("contractEnd", "contract_end", "contractEnd", dates),
  ],
  site: [
    name,
    field("timezone", "timezone", "timezone", ["Mars/Base", "+01:00", "UTC\0", "x".repeat(51), "Europe/Berlin ", "1"]),
    object("address"),
    object("contact"),
    object("settings"),
  ],
};
const notCreated = { partner: ["status", "settings", "ssoConfig"], organization: ["ssoConfig"], site: [] as string[] };
type Kind = keyof typeof fields;

const admin = callers.platformAdmin();
const creations: Record<Kind, (change: object) => Promise<unknown>> = {
  partner: (change) => tenancy.partners(admin).createPartner({ name: "N", slug: slug(), ...change }),
  organization: (change) =>
    tenancy.organizations(admin).createOrganization({ partnerId: ids.partner, name: "N", slug: slug(), ...change }),
  site: (change) => tenancy.sites(admin).createSite({ orgId: ids.organization, name: "N", ...change }),
};
const changes: Record<Kind, (path: string, value: object) => Promise<unknown>> = {
  partner: (path, partner) =>
    tenancy.partners(admin).updatePartner({ id: ids.partner, updateMask: { paths: [path] }, partner }),
  organization: (path, organization) =>
    tenancy
      .organizations(admin)
      .updateOrganization({ id: ids.organization, updateMask: { paths: [path] }, organization }),
  site: (path, site) => tenancy.sites(admin).updateSite({ id: ids.site, updateMask: { paths: [path] }, site }),
};

const table = (Object.keys(fields) as Kind[]).flatMap((kind) => fields[kind].map((f) => [kind, f.shown, f] as const));

describe("invalid input", () => {
  it.each(table)(
    "of a %s's %s is named and writes nothing, on creation and change",
    async (kind, shown, { key, path, bad }) => {
      const before = await tenancy.footprint();
      for (const value of bad) {
        const change = { [key]: value };
        expect([value, await outcome(changes[kind](path, change))]).toEqual([value, `validation_failed ${shown}`]);
        // Empty means the default on creation.
        if (notCreated[kind].includes(shown)) continue;
        expect([value, await outcome(creations[kind](change))]).toEqual([value, `validation_failed ${shown}`]);
      }
      expect(await tenancy.footprint()).toBe(before);
    },
  );

  it.each(table)(
    "of a %s's %s: a masked field that is absent is never an error inside",
    async (kind, _shown, { path }) => {
      expect(["ok", "validation_failed"]).toContain((await outcome(changes[kind](path, {}))).split(" ")[0]);
    },
  );

  it.each(Object.entries(fields))("of a %s is reported for all fields at once", async (kind, cases) => {
    const { id } = await tenancy.partner();
    const everything = Object.fromEntries(cases.map((f) => [f.key, f.bad.at(-1)]));
    const paths = cases.map((f) => f.path);
    const all = {
      partner: () => tenancy.partners(admin).updatePartner({ id, updateMask: { paths }, partner: everything }),
      organization: () =>
        tenancy
          .organizations(admin)
          .updateOrganization({ id: ids.organization, updateMask: { paths }, organization: everything }),
      site: () => tenancy.sites(admin).updateSite({ id: ids.site, updateMask: { paths }, site: everything }),
    };
    const answer = await outcome(all[kind as Kind]());
    expect(answer.split(" ").slice(1).sort()).toEqual(cases.map((f) => f.shown).sort());
  });
});
