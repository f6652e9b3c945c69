import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import fc from "fast-check";
import { decodeEvent } from "./event-body.ts";

const texts = Object.fromEntries(
  AuditEventSchema.fields
    .filter((field) => field.scalar !== undefined)
    .map(({ localName }) => [localName, fc.string({ unit: "grapheme", maxLength: 300 })]),
);
const times = fc.option(
  fc.record({ seconds: fc.bigInt(-62135596800n, 253402300799n), nanos: fc.integer({ min: 0, max: 999_999_999 }) }),
  { nil: undefined },
);
const bytesOf = (event: MessageInitShape<typeof AuditEventSchema>) =>
  toBinary(AuditEventSchema, create(AuditEventSchema, event));
/** The values of an event's fields, without what messages carry besides them. */
const values = (event: object) =>
  JSON.stringify(
    AuditEventSchema.fields.map(({ localName }) => (event as Record<string, unknown>)[localName]),
    (key, value) => (key.startsWith("$") ? undefined : plain(value)),
  );
const plain = (value: unknown) => (typeof value === "bigint" ? `${value}n` : value);

describe("decoding an audit event", () => {
  it("gives what the protocol's own decoder gives", () => {
    fc.assert(
      fc.property(fc.record({ ...texts, timestamp: times }), (event) => {
        const body = bytesOf(event as MessageInitShape<typeof AuditEventSchema>);
        expect(values(decodeEvent(body))).toBe(values(fromBinary(AuditEventSchema, body)));
      }),
    );
  });

  it("takes or refuses any bytes as the protocol's own decoder does", () => {
    const valid = bytesOf({
      id: "a".repeat(200),
      action: "site.update",
      timestamp: timestampFromMs(1_780_000_000_000),
    });
    const spoilt = fc
      .array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 3 })
      .map((changes) => {
        const bytes = valid.slice();
        for (const [at, byte] of changes) bytes[at] = byte;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(spoilt, fc.uint8Array({ maxLength: 40 })), (body) => {
        expect(outcome(decodeEvent, body)).toBe(outcome((bytes) => fromBinary(AuditEventSchema, bytes), body));
      }),
      { numRuns: 2_000 },
    );
  });

  it("reads texts beyond 16 KB and beyond 2 MB", () => {
    for (const length of [127, 128, 16_383, 16_384, 2_097_151, 2_097_152]) {
      expect(decodeEvent(bytesOf({ detailsJson: "x".repeat(length), result: "success" }))).toMatchObject({
        detailsJson: "x".repeat(length),
        result: "success",
      });
    }
  });
});

function outcome(decode: (body: Uint8Array) => object, body: Uint8Array): string {
  try {
    return values(decode(body));
  } catch {
    return "refused";
  }
}
