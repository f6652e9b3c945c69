import { describe, expect, it } from "@jest/globals";
import { aChainRow } from "../testing/chain-row.ts";
import { parseLine } from "./export-line.ts";
import { type Envelope, refusalIn, rowText, shownAnswer, sinkBody } from "./stream-sink.ts";

const rows = [aChainRow({ seq: 1 }), aChainRow({ seq: 2 })];
const textOf = (envelope: Envelope, format: "muster" | "ocsf" = "muster") => {
  const { contentType, body } = sinkBody(rows, { format, envelope });
  return { contentType, text: body.toString() };
};
const linesOf = (text: string) => text.trimEnd().split("\n");
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

describe("a batch as a sink takes it", () => {
  it("is rows as an export has them, or events, one per line or as an array", () => {
    const lines = linesOf(textOf("ndjson").text);
    expect(lines.map((line) => parseLine(line))).toMatchObject([
      { type: "row", seq: 1 },
      { type: "row", seq: 2 },
    ]);
    const { contentType, text } = textOf("array", "ocsf");
    expect([contentType, (JSON.parse(text) as { class_uid: number }[]).map((event) => event.class_uid)]).toEqual([
      "application/json",
      [3004, 3004],
    ]);
  });

  it("is events of Splunk, each with its time in seconds", () => {
    const events = linesOf(textOf("splunk-hec").text).map((line) => JSON.parse(line));
    expect(events[1]).toEqual({
      time: (rows[1]?.entry.timestamp.getTime() ?? 0) / 1_000,
      source: "muster",
      sourcetype: "muster:muster",
      event: JSON.parse(rowText(rows[1] ?? aChainRow(), "muster")),
    });
  });

  it("is pairs of the bulk API, by the ids of the rows", () => {
    const { contentType, text } = textOf("elastic-bulk", "ocsf");
    expect([contentType, text.endsWith("\n")]).toEqual(["application/x-ndjson", true]);
    const [action, event] = linesOf(text).map((line) => JSON.parse(line));
    expect(action).toEqual({ create: { _id: rows[0]?.entry.id } });
    expect(event).toMatchObject({ metadata: { uid: rows[0]?.entry.id } });
    // Without it no data stream takes them.
    expect(event["@timestamp"]).toBe(rows[0]?.entry.timestamp.toISOString());
    const [, row = ""] = linesOf(textOf("elastic-bulk").text);
    expect([parseLine(row), JSON.parse(row)["@timestamp"]]).toMatchObject([
      { type: "row", seq: 1 },
      rows[0]?.entry.timestamp.toISOString(),
    ]);
  });
});

describe("an answer with a status that accepts", () => {
  const item = (status: number, type?: string) => ({ create: { status, ...(type ? { error: { type } } : {}) } });

  it.each<[string, Envelope, unknown, string | null]>([
    ["Splunk's success", "splunk-hec", { text: "Success", code: 0 }, null],
    ["Splunk's other codes", "splunk-hec", { text: "Server is busy", code: 9 }, "Splunk answered with code 9"],
    ["a bulk answer without errors", "elastic-bulk", { took: 3, errors: false, items: [item(201)] }, null],
    [
      "a row that was sent elsewhere",
      "elastic-bulk",
      { errors: true, items: [item(299), item(300, "moved")] },
      "1 of 2 documents were refused, the first with 300 moved",
    ],
    ["rows that were stored before", "elastic-bulk", { errors: true, items: [item(409), item(201)] }, null],
    [
      "some rows that were refused",
      "elastic-bulk",
      { errors: true, items: [item(201), item(429, "es_rejected_execution_exception"), item(400, "x")] },
      "2 of 3 documents were refused, the first with 429 es_rejected_execution_exception",
    ],
    ["a bulk answer that names nothing", "elastic-bulk", { errors: true }, "The bulk answer names no documents"],
    ["anything, where rows need no answer", "ndjson", { errors: true }, null],
  ])("is read: %s", (_, envelope, answer, refusal) => {
    expect(refusalIn(envelope, json(answer))).toBe(refusal);
  });

  it("is no proof of acceptance when it is not what the bulk API answers", () => {
    for (const text of ["", "ok", "<html>", '{"errors":true,"items":[{"create":{"sta'])
      expect(refusalIn("elastic-bulk", Buffer.from(text))).not.toBeNull();
    const long = `{"took":1,"errors":false,"items":[${'{"create":{"status":201}},'.repeat(3_000)}`;
    expect(refusalIn("elastic-bulk", Buffer.from(long).subarray(0, 65_536))).toBeNull();
  });

  it("is shown up to 1,000 characters, whatever its bytes", () => {
    expect(shownAnswer(Buffer.from("é".repeat(3_000)))).toBe("é".repeat(1_000));
    expect(shownAnswer(Buffer.from([0xff, 0xfe]))).toBe("\ufffd\ufffd");
  });
});
