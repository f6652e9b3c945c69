import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import type { AppError } from "@muster/kit";
import { ExportLogsServiceRequestSchema } from "@muster/proto/opentelemetry/proto/collector/logs/v1/logs_service_pb";
import { type OtlpEntries, otlpEntries } from "./otlp-entries.ts";
import { type OtlpEncoding, readOtlp } from "./otlp-request.ts";

type Init = MessageInitShape<typeof ExportLogsServiceRequestSchema>;
const arrival = new Date("2026-01-02T03:04:05.678Z");
const nanos = BigInt(arrival.getTime()) * 1_000_000n;

const bytesOf = (init: Init) => toBinary(ExportLogsServiceRequestSchema, create(ExportLogsServiceRequestSchema, init));
const read = (body: Uint8Array, encoding: OtlpEncoding = "protobuf"): OtlpEntries =>
  otlpEntries(readOtlp(Buffer.from(body), encoding), arrival);
const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const text = (value: string) => ({ value: { case: "stringValue" as const, value } });
const records = (
  logRecords: NonNullable<NonNullable<Init["resourceLogs"]>[number]["scopeLogs"]>[number]["logRecords"],
) => bytesOf({ resourceLogs: [{ scopeLogs: [{ ...(logRecords ? { logRecords } : {}) }] }] });

/** Error of a request that is refused: what is wrong by field, or with the whole. */
function problem(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    const { fieldErrors, formErrors } = (error as AppError).facts.details as Record<string, Record<string, string[]>>;
    return Object.keys(fieldErrors ?? {}).length > 0 ? fieldErrors : formErrors;
  }
  return null;
}

const whole = {
  resourceLogs: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "nginx" } }] },
      scopeLogs: [
        {
          scope: { name: "access", version: "1" },
          logRecords: [
            {
              timeUnixNano: String(nanos),
              severityNumber: 17,
              severityText: "ERR",
              body: { stringValue: "bad gateway" },
              attributes: [
                { key: "n", value: { intValue: "9007199254740993" } },
                { key: "list", value: { arrayValue: { values: [{ boolValue: true }, { doubleValue: 0.5 }, {}] } } },
                { key: "map", value: { kvlistValue: { values: [{ key: "b", value: { bytesValue: "AQI=" } }] } } },
              ],
              traceId: "5B8EFFF798038103D269B633813FC60C",
              spanId: "EEE19B7EC3C1B174",
              flags: 1,
              unknownField: {},
            },
          ],
        },
      ],
    },
  ],
};
const expected = {
  timestamp: "2026-01-02T03:04:05.678Z",
  level: "error",
  component: "nginx",
  message: "bad gateway",
  agentVersion: null,
};

describe("logs of OpenTelemetry", () => {
  it("are read from JSON with every field, ids in hexadecimal and integers with all digits", () => {
    const { entries, refused } = read(json(whole), "json");
    expect(refused).toBe(0);
    expect(entries).toEqual([{ ...expected, fieldsJson: expect.any(String) }]);
    const fields = entries[0]?.fieldsJson ?? "";
    expect(fields).toContain('"n":9007199254740993');
    expect(JSON.parse(fields)).toEqual({
      attributes: { n: expect.any(Number), list: [true, 0.5, null], map: { b: "AQI=" } },
      severityText: "ERR",
      traceId: "5b8efff798038103d269b633813fc60c",
      spanId: "eee19b7ec3c1b174",
      resource: { "service.name": "nginx" },
      scope: { name: "access", version: "1" },
    });
  });

  it("are the same from protobuf", () => {
    const { request } = readOtlp(json(whole), "json");
    expect(read(toBinary(ExportLogsServiceRequestSchema, request))).toEqual(read(json(whole), "json"));
  });

  it("without ids, times or severity have those of their arrival, and none", () => {
    const bare = { body: { stringValue: "m" }, traceId: "no id", spanId: "00".repeat(8) };
    const { entries } = read(json({ resourceLogs: [{ scopeLogs: [{ logRecords: [bare] }] }] }), "json");
    const said = { level: "info", component: "otlp", message: "m", fieldsJson: null, agentVersion: null };
    expect(entries).toEqual([{ timestamp: arrival.toISOString(), ...said }]);
  });

  it.each([
    [1, "", "debug"],
    [8, "", "debug"],
    [9, "", "info"],
    [12, "error", "info"],
    [13, "", "warn"],
    [16, "", "warn"],
    [17, "", "error"],
    [24, "", "error"],
    [0, "WARNING", "warn"],
    [0, "Critical", "error"],
    [0, "trace", "debug"],
    [0, "", "info"],
  ])("with severity %d %p have level %s", (severityNumber, severityText, level) => {
    expect(read(records([{ severityNumber, severityText, body: text("m") }])).entries[0]?.level).toBe(level);
  });

  it("without text are JSON, and events without a body show their name", () => {
    const body = { value: { case: "intValue" as const, value: 7n } };
    const { entries } = read(records([{ body }, { eventName: "user.login" }, {}]));
    expect(entries.map(({ message }) => message)).toEqual(["7", "user.login", ""]);
  });

  it("with invalid UTF-8 and NUL are stored with U+FFFD in their place", () => {
    const bytes = Buffer.from(records([{ body: text("caf# a\0b"), attributes: [{ key: "k#", value: text("v") }] }]));
    for (let at = bytes.indexOf("#"); at >= 0; at = bytes.indexOf("#")) bytes[at] = 0xe9;
    const request = readOtlp(bytes, "protobuf");
    expect(request.replaced).toBe(2);
    const [entry] = otlpEntries(request, arrival).entries;
    expect([entry?.message, entry?.fieldsJson]).toEqual(["caf\ufffd a\ufffdb", '{"attributes":{"k\ufffd":"v"}}']);
  });

  it("beyond what can be stored are counted, the first with its reason, and the others are stored", () => {
    const long = text("x".repeat(65_537));
    const { entries, refused, firstError } = read(records([{ body: text("a") }, { body: long }, { body: long }]));
    expect([entries.length, refused]).toEqual([1, 2]);
    expect(firstError).toBe("record 1: body: At most 65536 characters");
  });

  it("may have 5,000 records, one more is too many in both encodings", () => {
    const many = (n: number) => Array.from({ length: n }, () => ({}));
    expect(read(records(many(5_000))).entries).toHaveLength(5_000);
    const tooMany = { resourceLogs: ["At most 5000 log records"] };
    expect(problem(() => read(records(many(5_001))))).toEqual(tooMany);
    const halves = [{ logRecords: many(2_500) }, { logRecords: many(2_501) }];
    expect(problem(() => read(json({ resourceLogs: [{ scopeLogs: halves }] }), "json"))).toEqual(tooMany);
  });

  it("with few bytes that become many are refused before they do", () => {
    const empty = Buffer.alloc(4_000_000, Buffer.from([0x0a, 0]));
    const values = { resourceLogs: ["At most 250000 values"] };
    expect(problem(() => read(empty))).toEqual(values);
    expect(problem(() => read(Buffer.from(`{"resourceLogs":[${"{},".repeat(999_999)}{}]}`), "json"))).toEqual(values);
    const resource = { attributes: [{ key: "k", value: text("x".repeat(60_000)) }] };
    const logRecords = Array.from({ length: 5_000 }, () => ({}));
    const wide = bytesOf({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] });
    expect(problem(() => read(wide))).toEqual({ resourceLogs: [expect.stringContaining("characters")] });
  });

  // An AnyValue of an ArrayValue of an AnyValue …, from the inside, at the fifth level of a request.
  const nestedIn = (values: number) => {
    const within = (field: number, inner: Buffer) => {
      const length: number[] = [];
      let rest = inner.length;
      for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
      return Buffer.concat([Buffer.from([(field << 3) | 2, ...length, rest]), inner]);
    };
    let nested = Buffer.alloc(0);
    for (let left = values; left > 0; left--) nested = within(left % 2 === 1 ? 5 : 1, nested);
    for (const field of [5, 2, 2, 1]) nested = within(field, nested);
    return nested;
  };

  it("nested to the 64th level are read", () => {
    expect(read(nestedIn(59))).toMatchObject({ entries: [{ level: "info" }], refused: 0 });
  });

  it("nested without end are refused", () => {
    const tooDeep = { resourceLogs: ["Nested deeper than 64 levels"] };
    for (const values of [60, 2_000]) expect(problem(() => read(nestedIn(values)))).toEqual(tooDeep);
    const open = '{"arrayValue":{"values":['.repeat(50_000);
    const text = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${open}${"]}}".repeat(50_000)}}]}]}]}`;
    expect(problem(() => read(Buffer.from(text), "json"))).toEqual(tooDeep);
  });

  it.each([
    ["protobuf", Buffer.from([0x0a, 0x7f])],
    ["protobuf", Buffer.from("no protobuf")],
    ["protobuf", Buffer.from([0x0b, 0x0b, 0x0b])],
    ["json", Buffer.from("{")],
    ["json", Buffer.from("[]")],
    ["json", Buffer.from('{"resourceLogs":7}')],
    ["json", Buffer.from('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"soon"}]}]}]}')],
  ] as const)("are no other %s (%p)", (encoding, body) => {
    expect(problem(() => read(body, encoding))).toEqual([`Must be an ExportLogsServiceRequest of OTLP in ${encoding}`]);
  });

  it("may be none", () => {
    expect(read(Buffer.alloc(0))).toMatchObject({ entries: [], refused: 0 });
    expect(read(json({}), "json")).toMatchObject({ entries: [], refused: 0 });
  });
});
