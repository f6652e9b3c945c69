import { describe, expect, it } from "@jest/globals";
import { isDeleting, recordedFacts, rowSentence, rowText } from "./row-sentence.ts";

const kim = { actorType: "user", user: { name: "Kim Roe", email: "kim@acme.example" } };
const on = (type: string, name: string | null) => ({ resource: { type, name } });

it.each([
  [{ ...kim, action: "webhook.update", ...on("webhook", "Ticketing") }, "Kim Roe changed the webhook Ticketing"],
  [{ ...kim, action: "user.login", ...on("user", "Kim Roe") }, "Kim Roe signed in"],
  [
    { ...kim, action: "site.delete", result: "denied" as const, ...on("site", "Nagoya") },
    "Kim Roe tried to delete a site Nagoya",
  ],
  [
    { ...kim, action: "device.bulk_job.create", details: { devices: 25, action: "update" }, ...on("device", null) },
    "Kim Roe changed 25 devices",
  ],
  [
    { ...kim, action: "sso.provider.certificates.expiring", ...on("sso_provider", "Entra") },
    "Kim Roe: sso provider certificates expiring Entra",
  ],
  [
    { ...kim, action: "device.update.failed", result: "failure" as const, ...on("device", "pos-01") },
    "Kim Roe: device update failed pos-01",
  ],
  [
    { actorType: "agent", user: { name: null, email: null }, action: "device.update", ...on("device", "pos-01") },
    "agent changed the device pos-01",
  ],
])("an audit row %j says: %s", (row, said) => {
  const { who, did, name } = rowSentence(row);
  expect([who, did, name].filter(Boolean).join(" ")).toBe(said);
});

it("what a row recorded are its plain values", () => {
  const details = {
    inFlight: 2,
    keyPrefix: "svc_a",
    isLate: false,
    rawActorId: "x",
    changes: {},
    organizations: [],
    reason: "locked",
  };
  expect(recordedFacts(details)).toEqual([
    ["In flight", "2"],
    ["Key prefix", "svc_a"],
    ["Is late", "false"],
    ["Reason", "A file was in use each time."],
  ]);
});

it.each([
  [{ action: "site.delete", result: "success" as const }, true],
  [{ action: "site.delete", result: "denied" as const }, false],
  [{ action: "device_group.devices.remove", result: "success" as const }, false],
  [{ action: "site.update", result: "success" as const }, false],
])("a row %j says that its record is gone: %s", (row, expected) => {
  expect(isDeleting(row)).toBe(expected);
});

describe("lines of the same text", () => {
  const row = {
    action: "webhook.test",
    result: "success",
    user: { id: "kim" },
    resource: { id: "ticketing" },
    details: {},
    errorMessage: null,
  } as const;

  it.each([
    ["of the same actor, record and change", {}, true],
    ["of another actor", { user: { id: "bo" } }, false],
    ["of another record", { resource: { id: "pager" } }, false],
    ["of another result", { result: "failure" as const }, false],
    ["of another change", { details: { changes: { before: { a: 1 }, after: { a: 2 } } } }, false],
    ["with another reason", { errorMessage: "wrong code" }, false],
  ])("are those %s: %j, %s", (_which, other, isSame) => {
    expect(rowText({ ...row, ...other }) === rowText(row)).toBe(isSame);
  });
});
