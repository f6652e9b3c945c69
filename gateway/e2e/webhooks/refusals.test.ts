import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { api } from "../support/client.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { asDatabaseOwner } from "../support/owner-rows.ts";
import { claimReceiverPort } from "../support/receiver.ts";
import { fieldsOf } from "../support/tenant-with-admins.ts";
import { newOrganization, newSite } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();
let url: string;
let release: () => Promise<void>;
beforeAll(async () => {
  ({ url, release } = await claimReceiverPort(cluster));
});
afterAll(() => release?.());
const type = "custom.refused";
const x = (count: number) => "x".repeat(count);
const ids = (count: number) => Array.from({ length: count }, () => uuidv7());
const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });
const pattern = (text: string) => ({ properties: { a: { pattern: text } } });

/** A schema of few bytes whose validation takes 2^28 steps. */
function doubling(): object {
  const names = Array.from({ length: 28 }, (_, at) => `d${at}`);
  const next = (at: number) => ({ $ref: `#/$defs/d${at + 1}` });
  const defs = names.map((name, at) => [name, { allOf: [next(at), next(at)] }] as const);
  return { $defs: { ...Object.fromEntries(defs), d28: {} }, $ref: "#/$defs/d0" };
}

type Refused = [field: string, change: object];

async function expectRefused(path: string, valid: object, rows: readonly Refused[], method = "POST"): Promise<void> {
  const found: [string, number, string[]][] = [];
  for (const [, change] of rows) {
    const { status, body } = await call(method, path, { ...valid, ...change });
    found.push([JSON.stringify(change).slice(0, 60), status, fieldsOf(body)]);
  }
  expect(found).toEqual(rows.map(([field, change]) => [JSON.stringify(change).slice(0, 60), 400, [field]]));
}

describe("what is refused by the field that is wrong", () => {
  it("in an event type", async () => {
    const names = ["", "custom", "custom.", "custom.*", "custom.A", "custom.a b", "custom..a", "custom.a\u0000", "a.b"];
    const wrong: unknown[] = [...names, `custom.${x(94)}`, 7, null, ["custom.a"]];
    await expectRefused("/webhooks/event-types", { type, description: "A." }, [
      ...wrong.map((each): Refused => ["type", { type: each }]),
      ["description", { description: " " }],
      ["description", { description: x(1_001) }],
      ["version", { version: x(51) }],
      ["example", { example: [] }],
      ["example.a", { schema: { required: ["a"] }, example: {} }],
      ["schema", { schema: [] }],
      ["schema", { schema: { type: "nothing" } }],
      ["schema", { schema: { $ref: "https://example.com/schema.json" } }],
      ["schema", { schema: { $schema: "http://json-schema.org/draft-07/schema#" } }],
      ["schema", { schema: { description: x(16_384) } }],
      ["schema", { schema: nested(21) }],
      ["schema", { schema: pattern("(") }],
      ["schema", { schema: { $ref: "#" } }],
      ["schema", { schema: doubling() }],
      ["schema", { schema: pattern("^(a+)+$"), example: { a: `${"a".repeat(60)}!` } }],
    ]);
    const missing = await call("PATCH", "/webhooks/event-types", { type: "custom.none", archived: true });
    expect([missing.status, missing.body.code]).toEqual([404, "event_type_not_found"]);
  });

  it("in a webhook's names, filter and people", async () => {
    const other = await newOrganization(cluster, tenant.partnerId);
    const siteId = await newSite(cluster, other);
    await expectRefused("/webhooks", { name: "A", url, events: ["*"] }, [
      ["name", { name: x(256) }],
      ["events", { events: ["*", "device.online"] }],
      ["events", { events: Array.from({ length: 101 }, (_, n) => `custom.a${n}`) }],
      ["filter", { filter: {} }],
      ["filter", { filter: { siteIds: [], groupIds: [], labels: [] } }],
      ["filter", { filter: { deviceIds: ids(1) } }],
      ["filter.siteIds.0", { filter: { siteIds: ["*"] } }],
      ["filter.siteIds.0", { filter: { siteIds: [siteId] } }],
      ["filter.groupIds", { filter: { groupIds: ids(101) } }],
      ["filter.labels.0", { filter: { labels: [" "] } }],
      ["filter.labels.0", { filter: { labels: [x(201)] } }],
      ["notifyUserIds.0", { notifyUserIds: ["x"] }],
      ["notifyUserIds", { notifyUserIds: ids(21) }],
    ]);
    for (const events of [["custom.unknown"], ["custom.*.*"], ["*.online"], ["webhook.test"]]) {
      const { status, body } = await call("POST", "/webhooks", { name: "A", url, events });
      expect([events, status, body.code]).toEqual([events, 400, "unknown_event_type"]);
    }
    const long = await call("POST", "/webhooks", { name: "\u{1f6f0}".repeat(255), url, events: ["*"] });
    expect(long.status).toBe(201);
  });

  it("in a portal link", async () => {
    const origins = ["*", "null", "https://*.example.com", "https://a.example.com/", "http://a.example.com"];
    const pages = [
      "javascript:alert(1)",
      "http://a.example.com",
      "https://u@a.example.com",
      "https://a.example.com/#x",
    ];
    await expectRefused("/webhooks/portal-links", { name: "A" }, [
      ...[...origins, "https://u@a.example.com", "https://a.example.com;"].map(
        (each): Refused => ["embedOrigins", { embedOrigins: [each] }],
      ),
      ["embedOrigins", { embedOrigins: Array(11).fill("https://a.example.com") }],
      ...pages.map((refreshUrl): Refused => ["refreshUrl", { refreshUrl }]),
      ...[0, 61, 1.5].map((each): Refused => ["expiresInMinutes", { expiresInMinutes: each }]),
      ["name", { name: x(256) }],
      ["capabilities.0", { capabilities: ["*"] }],
    ]);
  });
});

it("a code is refused in the same words, whatever is wrong with it", async () => {
  const newLink = async () => {
    const { body } = await call("POST", "/webhooks/portal-links", { name: "A" });
    return { id: String(body.id), code: String(body.portalUrl).split("#code=")[1] ?? "" };
  };
  const exchange = (id: string, code: string) =>
    api(cluster).call("POST", `/webhooks/portal-links/${id}/exchange`, { code });
  const [used, revoked, expired, open] = await Promise.all([newLink(), newLink(), newLink(), newLink()]);
  expect((await exchange(used.id, used.code)).status).toBe(200);
  await call("DELETE", `/webhooks/portal-links/${revoked.id}`);
  const past = "UPDATE identity.portal_links SET expires_at = now() WHERE id = $1";
  await asDatabaseOwner(cluster, past, [expired.id]);
  const replies = await Promise.all(
    [
      used,
      revoked,
      expired,
      { ...open, code: used.code },
      { ...open, id: randomUUID() },
      { ...open, code: x(255) },
    ].map(({ id, code }) => exchange(id, code)),
  );
  for (const { status, body } of replies) {
    expect([status, body.code, body.error]).toEqual([400, "invalid_exchange_code", replies[0]?.body.error]);
  }
  expect((await exchange(open.id, open.code)).status).toBe(200);
});
