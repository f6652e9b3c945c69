import { describe, expect, it } from "@jest/globals";
import { aChainRow } from "../testing/chain-row.ts";
import { batchId, batchKey, newStream, type StreamInput, streamDelayMs, takeBatch } from "./stream.ts";

const streamId = "11111111-1111-4111-8111-111111111111";
const orgId = "22222222-2222-4222-8222-222222222222";
const from = (...seqs: number[]) => seqs.map((seq) => aChainRow({ seq }));

describe("a batch of a stream", () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [9, 256_000],
    [10, 300_000],
    [2_000, 300_000],
  ])("is sent again, after %i failures, in %i ms", (failures, ms) => {
    expect(streamDelayMs(failures)).toBe(ms);
  });

  // Receivers drop repeats by it, also across versions.
  it("has the id of its stream, its first and its last row, in the form of a UUID of version 5", () => {
    expect(batchId(streamId, from(7, 8, 9))).toBe("3cc7b9cd-245f-542b-8361-9d0aaaf91d2a");
    const others = [from(7), from(7, 8), from(6, 9)].map((rows) => batchId(streamId, rows));
    expect(new Set([...others, batchId(orgId, from(7, 9))]).size).toBe(4);
  });

  it("lies in the archive by a name that sorts as the chain does", () => {
    expect(batchKey(orgId, streamId, from(9, 10))).toBe(
      `streams/${orgId}/${streamId}/0000000000000009-0000000000000010.jsonl`,
    );
  });

  it("is all rows, of a bucket those of one hour", () => {
    const at = (time: string, seq: number) => {
      const row = aChainRow({ seq });
      return { ...row, entry: { ...row.entry, timestamp: new Date(time) } };
    };
    const rows = [at("2026-01-31T10:59:59Z", 1), at("2026-01-31T11:00:00Z", 2), at("2026-01-31T11:00:01Z", 3)];
    const taken = (type?: "s3" | "https") => takeBatch(rows, type).map(({ seq }) => seq);
    expect([taken(), taken("https"), taken("s3")]).toEqual([[1, 2, 3], [1, 2, 3], [1]]);
    expect(takeBatch(rows.slice(1), "s3")).toHaveLength(2);
    expect(takeBatch([])).toEqual([]);
  });
});

const webhook: StreamInput = {
  name: " SIEM ",
  type: "webhook",
  url: "https://siem.example.com/",
  secret: "",
  format: "",
  envelope: "",
  headers: [],
  bucket: null,
  ca: "",
};
const bucket = {
  bucket: "acme-audit",
  region: "eu-central-1",
  prefix: "",
  endpoint: null,
  pathStyle: false,
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "secret",
};
const https: StreamInput = { ...webhook, type: "https" };
const s3: StreamInput = { ...webhook, type: "s3", url: "", bucket };
const has = { archive: false, roles: false };

describe("a new stream", () => {
  it("has the defaults of its type, and envelopes only for https", () => {
    const made = newStream(webhook, has);
    expect(made).toMatchObject({ name: "SIEM", format: "muster", envelope: null, bucket: null, ca: null });
    const headers = [{ key: "Authorization", value: " Splunk t " }];
    expect(newStream({ ...https, format: "ocsf", headers }, has)).toMatchObject({
      format: "ocsf",
      envelope: "ndjson",
      headers: [{ key: "Authorization", value: "Splunk t" }],
    });
    expect(newStream({ ...webhook, type: "archive", url: "" }, { ...has, archive: true }).url).toBe("");
    expect(newStream(s3, has).bucket).toMatchObject({ bucket: "acme-audit" });
  });

  it.each<[string, StreamInput]>([
    ["name", { ...webhook, name: " " }],
    ["type", { ...webhook, type: "ftp" }],
    ["type", { ...webhook, type: "archive", url: "" }],
    ["url", { ...webhook, url: "" }],
    ["url", { ...s3, url: "https://siem.example.com/" }],
    ["url", { ...webhook, type: "syslog", url: "https://siem.example.com/" }],
    ["secret", { ...https, secret: "a secret of its own" }],
    ["secret", { ...webhook, secret: "whsec_short" }],
    ["format", { ...webhook, format: "cef" }],
    ["envelope", { ...https, envelope: "xml" }],
    ["envelope", { ...webhook, envelope: "ndjson" }],
    ["headers", { ...webhook, headers: [{ key: "X-Key", value: "v" }] }],
    ["s3", { ...s3, bucket: null }],
    ["s3", { ...https, bucket }],
    ["ca", { ...webhook, ca: "PEM" }],
    ["ca", { ...https, ca: "PEM" }],
  ])("is refused with its field %s, case %#", (field, input) => {
    const errors = { [field]: expect.anything() };
    expect(() => newStream(input, has)).toThrow(
      expect.objectContaining({
        code: "validation_failed",
        facts: { details: { formErrors: [], fieldErrors: errors } },
      }),
    );
  });
});
