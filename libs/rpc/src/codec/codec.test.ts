import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { ListSitesResponseSchema } from "@muster/proto/muster/tenancy/v1/site_pb";
import fc from "fast-check";
import { contractTypes, inits } from "../testing/messages.ts";
import { decode, encode } from "./codec.ts";
import { compileDecoder } from "./decoder.ts";
import { compileEncoder } from "./encoder.ts";
import { type Plan, planOf } from "./plan.ts";
import { WireReader } from "./wire-reader.ts";
import { WireWriter } from "./wire-writer.ts";

// `CODEC_MESSAGES=100000` tries as many of each type.
const numRuns = Number(process.env.CODEC_MESSAGES ?? 8);
const types = await contractTypes();

// Types within others are tried with them.
const outermost = types.filter((type) => !types.some((other) => other.fields.some((field) => field.message === type)));

describe.each(outermost.map((type) => [type.typeName, type] as const))("%s", (_name, type) => {
  it("is written and read as the library does it", () => {
    fc.assert(
      fc.property(inits(type), (init) => {
        const message = create(type, init);
        const bytes = toBinary(type, message);
        const ours = { ofInit: hex(encode(type, init)), ofMessage: hex(encode(type, message)) };
        expect(ours).toEqual({ ofInit: hex(bytes), ofMessage: hex(bytes) });
        expect(decode(type, bytes)).toStrictEqual(fromBinary(type, bytes));
      }),
      { numRuns },
    );
  });

  it("keeps fields that it does not know, and refuses what the library refuses", () => {
    const bytesOf = inits(type).map((init) => toBinary(type, create(type, init)));
    fc.assert(
      fc.property(bytesOf, unknownFields, fc.nat(), fc.nat(255), (bytes, unknown, at, byte) => {
        const longer = Buffer.concat([bytes, unknown, bytes]);
        expect(decode(type, longer)).toStrictEqual(fromBinary(type, longer));
        expect(hex(encode(type, decode(type, longer)))).toBe(hex(toBinary(type, fromBinary(type, longer))));
        const truncated = bytes.subarray(0, at % (bytes.length + 1));
        expect(outcome(() => decode(type, truncated))).toEqual(outcome(() => fromBinary(type, truncated)));
        const changed = Buffer.from(bytes);
        if (changed.length > 0) changed[at % changed.length] = byte;
        expect(outcome(() => decode(type, changed))).toEqual(outcome(() => fromBinary(type, changed)));
      }),
      { numRuns },
    );
  });
});

describe("compiled code", () => {
  it("exists for every type of the contract but those with enumerations and maps of messages", () => {
    expect(types.filter((type) => planOf(type) === null).map(({ typeName }) => typeName)).toEqual([
      "muster.audit.v1.ExportLogsRequest",
      "muster.audit.v1.StartExportRequest",
      "muster.audit.v1.ReportRequest",
      "muster.identity.v1.NotifyResponse",
      "muster.identity.v1.FindAuthorResponse",
      "muster.release.v1.GetSettingsResponse",
      "muster.release.v1.PutSettingsResponse",
      "muster.release.v1.ComponentDecision",
      "muster.release.v1.GetDecisionResponse",
    ]);
  });

  it("writes and reads what is usual by itself", () => {
    const usual = {
      sites: [{ id: "a", name: "Zürich".repeat(30), labels: { floor: "2" }, createdAt: { seconds: 1_790_000_000n } }],
      page: { total: 300n, nextCursor: "x".repeat(200) },
    };
    const plan = planOf(ListSitesResponseSchema) as Plan;
    const writer = new WireWriter();
    compileEncoder(plan)(writer, usual);
    const bytes = writer.finish();
    expect(compileDecoder(plan)(new WireReader(bytes), bytes.length)).toEqual(create(ListSitesResponseSchema, usual));
  });

  it("writes messages that are larger than its buffer, and small ones after them", () => {
    const large = { sites: [{ name: "x".repeat(100_000) }, { name: "y".repeat(300_000) }] };
    for (const init of [large, { sites: [{ name: "small" }] }, large]) {
      const bytes = toBinary(ListSitesResponseSchema, create(ListSitesResponseSchema, init));
      expect(Buffer.compare(encode(ListSitesResponseSchema, init), bytes)).toBe(0);
      expect(decode(ListSitesResponseSchema, bytes)).toStrictEqual(fromBinary(ListSitesResponseSchema, bytes));
    }
  });
});

/** Field 2,000, with a text and with a number. */
const unknownFields = fc.constantFrom(Buffer.from([0x82, 0x7d, 2, 104, 105]), Buffer.from([0x80, 0x7d, 5]));

function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return String(error);
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
