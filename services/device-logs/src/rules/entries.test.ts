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
    ["2099-12-31T00:00:00.000Z", "2099-12-31T00:00:00.000Z"],
  ])("is stored at %s as %s", (timestamp, stored) => {
    expect(readAgentLogs(bytes({ logs: [{ ...log, timestamp }] }))[0]?.timestamp).toBe(stored);
  });

  it.each(["", "yesterday", "2026-01-02", "2026-13-01T00:00:00Z", "0099-01-01T00:00:00Z", 1_700_000_000, null])(
    "is refused at %p",
    (timestamp) => {
      expect(Object.keys(problems(() => readAgentLogs(bytes({ logs: [log, { ...log, timestamp }] }))))).toEqual([
        "logs.1.timestamp",
      ]);
    },
  );

  it("counts characters, not code units, and stores omitted fields as null", () => {
    const component = "😀".repeat(100);
    const [entry] = readAgentLogs(bytes({ logs: [{ ...log, component, fields: null, agentVersion: "" }] }));
    expect(entry).toMatchObject({ component, fieldsJson: null, agentVersion: null });
    expect(problems(() => readAgentLogs(bytes({ logs: [{ ...log, component: `${component}x` }] })))).toHaveProperty([
      "logs.0.component",
    ]);
  });

  it("reports every invalid field of every invalid entry", () => {
    const bad = { timestamp: 1, level: "INFO", component: 7, message: null, fields: [], agentVersion: {} };
    const found = problems(() => readAgentLogs(bytes({ logs: [bad, log, "text"] })));
    expect(Object.keys(found).filter((path) => path.startsWith("logs.0"))).toHaveLength(6);
    expect(found).toHaveProperty(["logs.2"]);
    expect(Object.keys(found).some((path) => path.startsWith("logs.1"))).toBe(false);
  });

  it.each([bytes(null), bytes([]), bytes({}), bytes({ logs: {} }), Buffer.from("{"), Buffer.from([0xff])])(
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
