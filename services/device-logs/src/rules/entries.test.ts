import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { readAgentLogs, readEvents } from "./entries.ts";

const log = { timestamp: "2026-01-02T03:04:05.678Z", level: "info", component: "ws", message: "m" };
const event = { timestamp: "2026-01-02T03:04:05.678Z", source: "Disk", message: "m" };
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

/** What is wrong, by field. */
function problems(run: () => unknown): Record<string, string[]> {
  try {
    run();
  } catch (error) {
    return ((error as AppError).facts.details as { fieldErrors: Record<string, string[]> }).fieldErrors;
  }
  return {};
}

describe("a diagnostic log entry", () => {
  it.each([
    ["2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"],
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
    ["2026-01-02T03:04:05.678912+02:00", "2026-01-02T01:04:05.678Z"],
    ["2026-02-28T23:59:59.999Z", "2026-02-28T23:59:59.999Z"],
    ["2026-02-29T00:00:00.000Z", "2026-03-01T00:00:00.000Z"],
    ["2026-01-02t03:04:05.678z", "2026-01-02T03:04:05.678Z"],
    ["2026-01-02T03:04:05+0530", "2026-01-01T21:34:05.000Z"],
    ["2026-01-02T03:04:05.1-0100", "2026-01-02T04:04:05.100Z"],
    ["1601-01-01T00:00:00.000Z", "1601-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("is stored at %s as %s", (timestamp, stored) => {
    expect(readAgentLogs(bytes({ logs: [{ ...log, timestamp }] })).entries[0]?.timestamp).toBe(stored);
  });

  it.each([
    "",
    "yesterday",
    "2026-01-02",
    "2026-13-01T00:00:00Z",
    "2026-01-02T03:04:05+05300",
    "2026-01-02T03:04:05",
    "2026-01-02T03:04:05+2530",
    "0099-01-01T00:00:00Z",
    "1600-12-31T23:59:59.999Z",
    "9999-12-31T23:59:59.999-01:00",
    1_700_000_000,
    null,
  ])("is refused at %p, and others beside it are not", (timestamp) => {
    const { entries, refused } = readAgentLogs(bytes({ logs: [log, { ...log, timestamp }] }));
    expect(entries).toHaveLength(1);
    expect(refused).toEqual([{ index: 1, errors: { timestamp: [expect.any(String)] } }]);
    expect(Object.keys(problems(() => readAgentLogs(bytes([{ ...log, timestamp }]))))).toEqual(["logs.0.timestamp"]);
  });

  it("counts characters, not code units, and stores omitted fields as null", () => {
    const component = "😀".repeat(100);
    const { entries } = readAgentLogs(bytes({ logs: [{ ...log, component, fields: null, agentVersion: "" }] }));
    expect(entries[0]).toMatchObject({ component, fieldsJson: null, agentVersion: null });
    expect(problems(() => readAgentLogs(bytes({ logs: [{ ...log, component: `${component}x` }] })))).toHaveProperty([
      "logs.0.component",
    ]);
  });

  it("reports every invalid field of every invalid entry", () => {
    const bad = { timestamp: 1, level: "INFO", component: 7, message: null, fields: [], agentVersion: {} };
    const { entries, refused } = readAgentLogs(bytes({ logs: [bad, log, "text"] }));
    expect(entries).toHaveLength(1);
    expect(refused.map(({ index, errors }) => [index, Object.keys(errors).length])).toEqual([
      [0, 6],
      [2, 1],
    ]);
    const found = problems(() => readAgentLogs(bytes({ logs: [bad, "text"] })));
    expect(Object.keys(found).filter((path) => path.startsWith("logs.0."))).toHaveLength(6);
    expect(found).toHaveProperty(["logs.1"], ["Must be an object"]);
  });

  it("comes in an object, in an array, or on a line of its own, its numbers as they were sent", () => {
    const fields = '{"n":1767323045678901234}';
    const text = `${JSON.stringify(log).slice(0, -1)},"fields":${fields}}`;
    const bodies = [
      [`{"logs":[${text},${text}]}`, "json"],
      [`[${text},${text}]`, "json"],
      [`${text}\n\n${text}\r\n`, "ndjson"],
      [`${text}\n${text}`, "ndjson"],
    ] as const;
    for (const [body, format] of bodies) {
      const { entries, refused } = readAgentLogs(Buffer.from(body), format);
      expect(entries.map(({ fieldsJson }) => fieldsJson)).toEqual([fields, fields]);
      expect(refused).toEqual([]);
    }
  });

  it("on a broken line is refused with its position; with no other the request is", () => {
    const lines = [JSON.stringify(log), '{"timestamp":', "", '{},{"a":1}', JSON.stringify(log)].join("\n");
    const { entries, refused } = readAgentLogs(Buffer.from(lines), "ndjson");
    expect(entries).toHaveLength(2);
    expect(refused).toEqual([
      { index: 1, errors: { entry: ["Must be JSON"] } },
      { index: 2, errors: { entry: ["Must be JSON"] } },
    ]);
    expect(problems(() => readAgentLogs(Buffer.from("{"), "ndjson"))).toEqual({ "logs.0": ["Must be JSON"] });
    expect(readAgentLogs(Buffer.from("\n"), "ndjson")).toEqual({ entries: [], refused: [] });
  });

  it("is one of 500 at most in any form, however many empty lines are between them", () => {
    const line = `${JSON.stringify(log)}\n`;
    expect(readAgentLogs(Buffer.from(`\n${line}`.repeat(500)), "ndjson").entries).toHaveLength(500);
    const tooMany = [
      () => readAgentLogs(Buffer.from(line.repeat(501)), "ndjson"),
      () => readAgentLogs(bytes(Array(501).fill(log))),
    ];
    for (const read of tooMany) expect(problems(read)).toEqual({ logs: ["At most 500 entries"] });
  });

  it("has U+FFFD in place of invalid UTF-8", () => {
    const body = Buffer.from(JSON.stringify([{ ...log, message: "caf\ufffd: X" }]));
    body[body.indexOf("X")] = 0xe9;
    expect(readAgentLogs(body).entries[0]?.message).toBe("caf\ufffd: \ufffd");
  });

  it.each([
    ["nested too deep", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["with a number beyond any double", '{"a":{"b":[1e400]}}'],
    ["with half a surrogate pair", '{"a":"\\ud800"}'],
  ])("is refused with fields %s", (_what, fields) => {
    const body = Buffer.from(`[${JSON.stringify(log).slice(0, -1)},"fields":${fields}}]`);
    expect(Object.keys(problems(() => readAgentLogs(body)))).toEqual(["logs.0.fields"]);
  });

  it("is refused with half a surrogate pair in its message", () => {
    expect(problems(() => readAgentLogs(bytes([{ ...log, message: "\ud800" }])))).toHaveProperty(["logs.0.message"]);
  });

  it.each([bytes(null), bytes({}), bytes({ logs: {} }), Buffer.from("{"), Buffer.from([0xff])])(
    "does not come in a body that is no list of them",
    (body) => {
      expect(() => readAgentLogs(body)).toThrow(AppError);
    },
  );
});

describe("an event", () => {
  it("has defaults, and no id when that is empty", () => {
    expect(readEvents(bytes({ events: [{ ...event, eventId: "" }, event] }))).toEqual(
      Array(2).fill({ ...event, level: "info", category: "system", eventId: null, detailsJson: null }),
    );
  });

  it("keeps its details unchanged", () => {
    const details = { a: [1, { b: "ä\n" }] };
    const [stored] = readEvents(bytes({ events: [{ ...event, details }] }));
    expect(JSON.parse(stored?.detailsJson ?? "")).toEqual(details);
    expect(problems(() => readEvents(bytes({ events: [{ ...event, details: { a: "\0" } }] })))).toHaveProperty([
      "events.0.details",
    ]);
  });
});
