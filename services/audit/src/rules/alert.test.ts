import { describe, expect, it } from "@jest/globals";
import { AppError, uuidv7 } from "@muster/kit";
import { type AlertInput, alertChange, newAlert } from "./alert.ts";
import { firingsOf, lineOf, type MatchedRow } from "./alert-firing.ts";

const input: AlertInput = {
  name: "Refusals",
  template: "",
  filter: { result: "denied" },
  threshold: null,
  notify: { webhook: true, userIds: [] },
  isOfOrganization: true,
};

function errorsOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return Object.keys((error.facts.details as { fieldErrors: object }).fieldErrors);
    throw error;
  }
  return [];
}

describe("a new alert", () => {
  it("takes the threshold of its template unless it has one", () => {
    const ready = { ...input, filter: {}, template: "many-refusals" };
    expect(newAlert(ready).threshold).toEqual({ count: 10, minutes: 10 });
    for (const threshold of [
      { count: 1, minutes: 1 },
      { count: 1_000, minutes: 1_440 },
    ])
      expect(newAlert({ ...ready, threshold }).threshold).toEqual(threshold);
  });

  it.each<[string, Partial<AlertInput>, string]>([
    ["an empty name", { name: " " }, "name"],
    ["an unknown template", { template: "x", filter: {} }, "template"],
    ["a template and filters", { template: "sso-disabled" }, "query"],
    ["no filter", { filter: {} }, "query"],
    ["a time", { filter: { from: "2026-01-01T00:00:00.000Z" } }, "query"],
    ["a count of 0", { threshold: { count: 0, minutes: 1 } }, "threshold.count"],
    ["a count of 1001", { threshold: { count: 1_001, minutes: 1 } }, "threshold.count"],
    ["a window of more than a day", { threshold: { count: 1, minutes: 1_441 } }, "threshold.minutes"],
    ["nobody to notify", { notify: { webhook: false, userIds: [] } }, "notify"],
    ["nothing to notify", { notify: null }, "notify"],
    ["a webhook without an organization", { isOfOrganization: false }, "notify.webhook"],
    ["a recipient who is no id", { notify: { webhook: false, userIds: ["x"] } }, "notify.mail.0"],
    [
      "21 recipients",
      { notify: { webhook: false, userIds: Array.from({ length: 21 }, () => uuidv7()) } },
      "notify.mail",
    ],
  ])("is refused with %s", (_what, change, field) => {
    expect(errorsOf(() => newAlert({ ...input, ...change }))).toContain(field);
  });
});

describe("a change of an alert", () => {
  it("replaces a template by a query", () => {
    expect(alertChange(["filter"], { ...input, status: "" })).toEqual({ filter: input.filter, template: null });
  });

  it("is refused without a field, and with the status ended", () => {
    expect(() => alertChange([], { ...input, status: "" })).toThrow("No updates provided");
    expect(errorsOf(() => alertChange(["status"], { ...input, status: "ended" }))).toEqual(["status"]);
  });
});

const startMs = Date.parse("2026-01-31T12:00:00.000Z");
const row = (seq: number, minute: number): MatchedRow => ({
  id: uuidv7(),
  seq,
  timestamp: new Date(startMs + minute * 60_000),
  action: "api_key.create",
  result: "denied",
  actor_type: "user",
  actor_id: uuidv7(),
  actor_name: "Ada",
  actor_email: "ada@example.com",
  resource_type: "api_key",
  resource_id: uuidv7(),
  resource_name: null,
  ip_address: null,
});
const threshold = { count: 3, minutes: 10 };

describe("an alert", () => {
  it("fires once for all rows of a batch, and shows the last 20", () => {
    const { firings } = firingsOf(
      null,
      [],
      Array.from({ length: 30 }, (_, n) => row(n + 1, 0)),
    );
    expect(firings.map(({ rows, lastSeq, sample }) => [rows, lastSeq, sample.length, sample[0]?.seq])).toEqual([
      [30, 30, 20, 11],
    ]);
    expect(firingsOf(null, [], []).firings).toEqual([]);
  });

  it.each<[string, number[], number[]]>([
    ["enough rows in time", [0, 1, 2], [3]],
    ["each time anew", [0, 1, 2, 3, 4, 5], [3, 6]],
    ["not for fewer", [0, 1], []],
    ["not for rows that are too far apart", [0, 6, 12, 18], []],
    ["for the last of them when earlier ones are too old", [0, 8, 11, 12], [4]],
  ])("with a threshold fires for %s", (_what, minutes, seqs) => {
    const rows = minutes.map((minute, n) => row(n + 1, minute));
    expect(firingsOf(threshold, [], rows).firings.map(({ lastSeq }) => lastSeq)).toEqual(seqs);
  });

  it("goes on counting where the batch before ended", () => {
    const { times } = firingsOf(threshold, [], [row(1, 0), row(2, 1)]);
    expect(firingsOf(threshold, times, [row(3, 2)])).toMatchObject({ firings: [{ rows: 3, lastSeq: 3 }], times: [] });
  });

  it("says in one sentence what happened", () => {
    const [firing] = firingsOf(null, [], [row(1, 0)]).firings;
    expect(lineOf("Keys", firing ?? { rows: 0, sample: [] })).toBe(
      "Keys: 1 row, the last api_key.create of api_key by Ada at 2026-01-31 12:00 UTC",
    );
    expect([...lineOf("😀".repeat(600), firing ?? { rows: 0, sample: [] })]).toHaveLength(500);
  });
});
