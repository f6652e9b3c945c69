import { describe, expect, it } from "@jest/globals";
import { headersOf, streamBody } from "./stream-body.ts";

function formOf(values: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) form.set(name, value);
  return form;
}
const common = { orgId: "o", name: "SIEM", from: "now", format: "muster" };
const url = "https://siem.example.com/in";
const ca = "-----BEGIN CERTIFICATE-----";

describe("the body of a new stream", () => {
  it.each([
    [
      { type: "https", url, envelope: "splunk-hec", headers: "Authorization: Splunk a:b\n\nX-Empty", bucket: "no" },
      {
        type: "https",
        url,
        envelope: "splunk-hec",
        headers: [
          { key: "Authorization", value: "Splunk a:b" },
          { key: "X-Empty", value: "" },
        ],
      },
    ],
    [
      { type: "syslog", url: "tls://log.example.com:6514", ca },
      { type: "syslog", url: "tls://log.example.com:6514", ca },
    ],
    [
      { type: "webhook", url, ca },
      { type: "webhook", url },
    ],
    [{ type: "archive", url, headers: "A: b" }, { type: "archive" }],
    [
      {
        type: "s3",
        bucket: "b",
        region: "eu",
        accessKeyId: "k",
        secretAccessKey: "s",
        prefix: "audit",
        pathStyle: "on",
      },
      {
        type: "s3",
        s3: { bucket: "b", region: "eu", accessKeyId: "k", secretAccessKey: "s", prefix: "audit/", pathStyle: true },
      },
    ],
  ])("has the fields of its type alone, from %j", (values, expected) => {
    expect(streamBody(formOf({ name: "SIEM", ...values }), "o")).toEqual({ ...common, ...expected });
  });

  it("begins at the start and in the other format where the form says so", () => {
    const body = streamBody(formOf({ name: "SIEM", type: "archive", fromStart: "on", format: "ocsf" }), "o");
    expect(body).toEqual({ ...common, type: "archive", from: "start", format: "ocsf" });
  });
});

it("reads no header of an empty text", () => {
  expect(headersOf(" \n")).toEqual([]);
});
