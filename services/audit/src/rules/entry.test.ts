import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { uuidv7, zeroUuid } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { canonicalAddress, entryOf, UnsealableError } from "./entry.ts";

const now = new Date("2026-06-01T00:00:00Z");
const orgId = uuidv7();
const event = (change: MessageInitShape<typeof AuditEventSchema> = {}): AuditEvent =>
  create(AuditEventSchema, {
    id: uuidv7(),
    timestamp: timestampFromDate(now),
    chainId: orgId,
    orgId,
    partnerId: uuidv7(),
    actorType: "user",
    actorId: uuidv7(),
    action: "site.create",
    resourceType: "site",
    resourceId: uuidv7(),
    detailsJson: "{}",
    result: "success",
    ...change,
  });

describe("an audit entry", () => {
  it("stores a non-UUID actor and resource in the details", () => {
    const entry = entryOf(event({ actorId: "agent-7", resourceId: "x/y" }), now);
    expect(entry).toMatchObject({
      actorId: zeroUuid,
      resourceId: zeroUuid,
      details: { rawActorId: "agent-7", rawResourceId: "x/y" },
    });
  });

  it("belongs to the organization's chain, else the partner's, else the platform's", () => {
    const partnerId = uuidv7();
    expect(entryOf(event(), now).chainId).toBe(orgId);
    expect(entryOf(event({ orgId: "", partnerId, chainId: partnerId }), now).chainId).toBe(partnerId);
    expect(entryOf(event({ orgId: "", partnerId: "", chainId: zeroUuid }), now).chainId).toBe(zeroUuid);
  });

  it("limits fields to the documented sizes, counted in code points", () => {
    const entry = entryOf(event({ action: "site.a".padEnd(300, "a"), resourceName: "😀".repeat(300) }), now);
    expect(entry.action).toHaveLength(100);
    expect([...(entry.resourceName ?? "")]).toHaveLength(255);
  });

  it("makes text that PostgreSQL refuses storable, keys included", () => {
    const details = JSON.stringify({ "a\u0000b": "x\u0000y", lone: "\ud800" });
    expect(entryOf(event({ detailsJson: details }), now).details).toEqual({ "a\ufffdb": "x\ufffdy", lone: "\ufffd" });
  });

  it("makes a key storable whose value is", () => {
    expect(entryOf(event({ detailsJson: '{"a\\u0000b":1}' }), now).details).toEqual({ "a\ufffdb": 1 });
  });

  it("cuts an actor's and a resource's raw id at 255 characters", () => {
    const { details } = entryOf(event({ actorId: "a".repeat(300), resourceId: "r".repeat(300) }), now);
    expect(details).toEqual({ rawActorId: "a".repeat(255), rawResourceId: "r".repeat(255) });
  });

  it.each([
    ["objects", '{"a":'.repeat(32), "}".repeat(32)],
    ["arrays", `{"a":${"[".repeat(31)}`, `${"]".repeat(31)}}`],
  ])("takes 32 levels of %s, clean or not, and not one more", (_name, open, close) => {
    const read = (text: string) => entryOf(event({ detailsJson: text }), now).details;
    expect(JSON.stringify(read(`${open}"x"${close}`))).toBe(`${open}"x"${close}`);
    expect(JSON.stringify(read(`${open}"\\u0000"${close}`))).toBe(`${open}"\ufffd"${close}`);
    expect(() => read(`{"a":${open}"x"${close}}`)).toThrow(UnsealableError);
  });

  it("writes unsafe integers as strings and has no negative zero", () => {
    const { details } = entryOf(event({ detailsJson: '{"big":9223372036854775807,"zero":-0}' }), now);
    expect(details.big).toBe("9223372036854775808");
    expect(Object.is(details.zero, 0)).toBe(true);
  });

  it("keeps a __proto__ key as data", () => {
    const { details } = entryOf(event({ detailsJson: '{"__proto__":{"a":1}}' }), now);
    expect(JSON.stringify(details)).toBe('{"__proto__":{"a":1}}');
  });

  it("clamps a wrong device clock and stores the claimed time", () => {
    const far = new Date("2099-01-01T00:00:00Z");
    const entry = entryOf(event({ timestamp: timestampFromDate(far) }), now);
    expect(entry.timestamp).toEqual(new Date("2026-06-01T00:05:00Z"));
    expect(entry.details.claimedTimestamp).toBe(far.toISOString());
  });

  it.each([
    ["an id that is no UUID", { id: "7" }],
    ["another tenant's chain", { chainId: uuidv7() }],
    ["an unknown actor type", { actorType: "robot" }],
    ["an unknown result", { result: "maybe" }],
    ["no action", { action: "" }],
    ["details that are no JSON", { detailsJson: "{" }],
    ["details that are no object", { detailsJson: "[1]" }],
    ["details nested 10,000 deep", { detailsJson: `{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}` }],
    ["details over 64 KB", { detailsJson: JSON.stringify({ a: "x".repeat(70_000) }) }],
  ])("refuses %s", (_name, change) => {
    expect(() => entryOf(event(change), now)).toThrow(UnsealableError);
  });
});

describe("canonical addresses", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:C000:0201", "192.0.2.1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["::1", "::1"],
    ["010.0.0.1", null],
    ["not an address", null],
    ["", null],
  ])("%s is %s", (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical);
  });
});
