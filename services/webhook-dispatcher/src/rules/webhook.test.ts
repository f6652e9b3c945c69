import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { changeWebhook, newWebhook, type WebhookFields, type WebhookInput } from "./webhook.ts";

const good = {
  name: "Hook",
  url: "https://example.com/",
  secret: "",
  events: ["device.online"],
  headers: [],
  ordered: false,
};
const stored: WebhookFields = {
  ...good,
  secret: "one",
  headers: [{ key: "X-Token", value: "kept" }],
  status: "active",
  retrySchedule: "standard",
  asymmetricSignature: false,
  filter: null,
  notifyUserIds: null,
};
const limits = { retentionDays: 4 };
const patch = (change: Partial<WebhookInput>): WebhookInput => ({ ...good, status: "", ...change });

function refusal(run: () => unknown): string {
  try {
    run();
    return "ok";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const fields = (error.facts.details as { fieldErrors?: object } | undefined)?.fieldErrors ?? {};
    return [error.code, ...Object.keys(fields)].join(" ");
  }
}

const header = (key: string, value = "x") => ({ headers: [{ key, value }] });

describe("a new webhook", () => {
  it.each<[string, object, string]>([
    ["without a name", { name: "  " }, "validation_failed name"],
    ["with 256 characters", { name: "x".repeat(256) }, "validation_failed name"],
    ["with 255 emoji", { name: "😀".repeat(255) }, "ok"],
    ["without events", { events: [] }, "validation_failed events"],
    ["for everything and something", { events: ["*", "device.online"] }, "validation_failed events"],
    ["for everything", { events: ["*"] }, "ok"],
    ["for an unknown type", { events: ["device.online", "x"] }, "unknown_event_type"],
    ["for the test type", { events: ["webhook.test"] }, "unknown_event_type"],
    ["with a header of ours", header("x-service-event-id"), "validation_failed headers.0.key"],
    ["with Content-Length", header("Content-Length", "1"), "validation_failed headers.0.key"],
    ["with Host", header("host"), "validation_failed headers.0.key"],
    ["with Transfer-Encoding", header("Transfer-Encoding"), "validation_failed headers.0.key"],
    ["with webhook-signature", header("webhook-signature"), "validation_failed headers.0.key"],
    ["with no header name", header("a b"), "validation_failed headers.0.key"],
    ["with a split header", header("X-A", "a\r\nX-B: b"), "validation_failed headers.0.value"],
    ["with a masked header", header("X-A", "***"), "validation_failed headers.0.value"],
    ["with Authorization", header("Authorization", "Bearer x"), "ok"],
    [
      "with a header twice",
      { headers: [header("X-A").headers[0], header("x-a").headers[0]] },
      "validation_failed headers.1.key",
    ],
    [
      "with 21 headers",
      { headers: Array.from({ length: 21 }, (_, n) => ({ key: `X-${n}`, value: "" })) },
      "validation_failed headers",
    ],
    ["with a secret of 513 characters", { secret: "s".repeat(513) }, "validation_failed secret"],
    ["with a secret that no library can use", { secret: "whsec_no-base64" }, "validation_failed secret"],
  ])("%s: %s", (_what, change, expected) => {
    expect(refusal(() => newWebhook({ ...good, ...change }, limits))).toBe(expected);
  });
});

describe("a changed webhook", () => {
  it("keeps the fields that are not named, and the values of headers that come back masked", () => {
    const headers = [
      { key: "x-token", value: "***" },
      { key: "X-New", value: " new " },
    ];
    const changed = changeWebhook(stored, ["headers"], patch({ headers }), limits);
    expect(changed).toEqual({
      ...stored,
      headers: [
        { key: "x-token", value: "kept" },
        { key: "X-New", value: "new" },
      ],
    });
  });

  it("drops its secret, and takes the API's states as the stored ones", () => {
    expect(changeWebhook(stored, ["secret"], patch({ secret: "" }), limits).secret).toBeNull();
    const states = ["active", "paused", "failed"].map(
      (status) => changeWebhook(stored, ["status"], patch({ status }), limits).status,
    );
    expect(states).toEqual(["active", "disabled", "error"]);
    expect(refusal(() => changeWebhook(stored, ["status"], patch({ status: "disabled" }), limits))).toBe(
      "validation_failed status",
    );
    expect(refusal(() => changeWebhook(stored, ["colour"], patch({}), limits))).toBe("no_updates");
  });
});

describe("a webhook whose URL changes", () => {
  const moved = "https://other.example/";
  const masked = { headers: [{ key: "X-Token", value: "***" }] };
  const own = { headers: [{ key: "X-Token", value: "new" }] };
  it.each<[string, string[], Partial<WebhookInput>, string]>([
    ["to another host alone", ["url"], { url: moved }, "validation_failed secret headers"],
    ["to another port alone", ["url"], { url: "https://example.com:8443/" }, "validation_failed secret headers"],
    ["to another scheme alone", ["url"], { url: "http://example.com/" }, "validation_failed secret headers"],
    ["to another host with a secret", ["url", "secret"], { url: moved, secret: "two" }, "validation_failed headers"],
    [
      "to another host with masked headers",
      ["url", "secret", "headers"],
      { url: moved, secret: "two", ...masked },
      "validation_failed headers.0.value",
    ],
    ["to another host with both", ["url", "secret", "headers"], { url: moved, secret: "two", ...own }, "ok"],
    [
      "to another host with neither wanted",
      ["url", "secret", "headers"],
      { url: moved, secret: "", headers: [] },
      "ok",
    ],
    ["to another path", ["url"], { url: "https://example.com:443/path?x=1" }, "ok"],
  ])("%s: %s", (_what, paths, change, expected) => {
    expect(refusal(() => changeWebhook(stored, paths, patch(change), limits))).toBe(expected);
  });

  it("requires no secret values again where none are stored", () => {
    const bare = { ...stored, secret: null, headers: [] };
    expect(changeWebhook(bare, ["url"], patch({ url: moved }), limits).url).toBe(moved);
  });
});

describe("a retry schedule", () => {
  const own = (delaysSeconds: number[], jitterPercent = 0, name = "") => ({ name, delaysSeconds, jitterPercent });
  const named = (name: string) => own([], 0, name);
  const refused = "validation_failed retrySchedule";
  it.each<[object, string]>([
    [{}, "ok"],
    [{ retrySchedule: named("extended") }, "ok"],
    [{ retrySchedule: own([1]) }, "ok"],
    [{ retrySchedule: named("daily") }, refused],
    [{ retrySchedule: own([]) }, refused],
    [{ retrySchedule: own([0]) }, refused],
    [{ retrySchedule: own([86_401]) }, refused],
    [{ retrySchedule: own(Array(17).fill(1)) }, refused],
    [{ retrySchedule: own([1], 21) }, refused],
    [{ retrySchedule: own([1], -1) }, refused],
    // Kept for four days.
    [{ retrySchedule: own([86_400, 86_400, 86_400, 86_399]) }, "ok"],
    [{ retrySchedule: own([86_400, 86_400, 86_400, 86_399], 1) }, refused],
    [{ retrySchedule: named("extended"), ordered: true }, refused],
    [{ retrySchedule: own([599]), ordered: true }, "ok"],
    [{ retrySchedule: own([600]), ordered: true }, refused],
  ])("%j: %s", (change, expected) => {
    expect(refusal(() => newWebhook({ ...good, ...change }, limits))).toBe(expected);
  });

  it("bounds a later change of the order, and no other change", () => {
    const extended: WebhookFields = { ...stored, retrySchedule: "extended" };
    const change = (paths: string[], input: Partial<WebhookInput>, retentionDays = 4) =>
      refusal(() => changeWebhook(extended, paths, patch(input), { retentionDays }));
    expect(change(["ordered"], { ordered: true })).toBe(refused);
    expect(change(["ordered", "retrySchedule"], { ordered: true })).toBe("ok");
    expect(change(["name"], { name: "Other" }, 1)).toBe("ok");
  });
});
