import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { AppendedEventSchema } from "@muster/proto/muster/audit/v1/append_pb";
import { mostEvents, newEvents } from "./appended-event.ts";
import { mostTargets } from "./targets.ts";

const now = new Date("2026-01-31T12:00:00Z");
const id = "019a0000-0000-7000-8000-00000000000a";
type Change = MessageInitShape<typeof AppendedEventSchema>;
const event = (change: Change = {}) =>
  create(AppendedEventSchema, { action: "custom.a", resourceType: "invoice", resourceId: "1", ...change });
const actor = (change: object) => ({
  claimedActor: { type: "", id: "", name: "", email: "", ipAddress: "", ...change },
});
const target = (change: object = {}) => ({ type: "user", id: "1", name: "", ...change });
const at = (ms: number) => ({ timestamp: timestampFromDate(new Date(now.getTime() + ms)) });
const long = (length: number) => "x".repeat(length);

/** Names of the fields that are refused; none when the event is taken. */
function refused(...posted: Change[]): string[] {
  try {
    newEvents(posted.map(event), now);
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { fieldErrors = {} } = (error.facts.details ?? {}) as { fieldErrors?: object };
    return Object.keys(fieldErrors);
  }
}

describe("an event of another program", () => {
  it("has what was posted, and defaults", () => {
    const [found] = newEvents([event()], now);
    expect(found).toEqual({
      id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7/),
      at: now,
      action: "custom.a",
      resource: { type: "invoice", id: "1", name: null },
      details: {},
      result: "success",
      errorMessage: "",
      targets: [],
    });
  });

  it("has its id in lower case, its time, names, details and claimed actor", () => {
    const posted = event({
      id: id.toUpperCase(),
      ...at(-1_000),
      resourceName: "Invoice",
      result: "denied",
      errorMessage: "No",
      detailsJson: '{"a":1}',
      targets: [target({ name: "Ada" }), target()],
      ...actor({ type: "person", email: "a@x.test" }),
    });
    expect(newEvents([posted], now)).toEqual([
      {
        id,
        at: new Date(now.getTime() - 1_000),
        action: "custom.a",
        resource: { type: "invoice", id: "1", name: "Invoice" },
        details: { a: 1, claimedActor: { type: "person", email: "a@x.test" } },
        result: "denied",
        errorMessage: "No",
        targets: [
          { type: "user", id: "1", name: "Ada" },
          { type: "user", id: "1", name: null },
        ],
      },
    ]);
  });

  it.each<[string, Change]>([
    ["action", { action: `custom.${long(93)}` }],
    ["resource.type", { resourceType: long(50) }],
    ["resource.id", { resourceId: long(255) }],
    ["resource.name", { resourceName: long(255) }],
    ["errorMessage", { errorMessage: long(2_000) }],
    ["claimedActor.type", actor({ type: long(50) })],
    ["claimedActor.id", actor({ id: long(255) })],
    ["claimedActor.name", actor({ name: long(255) })],
    ["claimedActor.email", actor({ email: long(255) })],
    ["claimedActor.ipAddress", actor({ ipAddress: long(45) })],
    ["targets.0.type", { targets: [target({ type: long(50) })] }],
    ["targets.0.id", { targets: [target({ id: long(255) })] }],
    ["targets.0.name", { targets: [target({ name: long(255) })] }],
    ["targets", { targets: Array.from({ length: mostTargets }, () => target()) }],
    ["details", { detailsJson: `{"a":"${long(16_376)}"}` }],
    ["timestamp", at(-30 * 86_400_000)],
    ["timestamp", at(5 * 60_000)],
    ["result", { result: "failure" }],
  ])("may have a %s up to its limit", (_field, change) => {
    expect(refused(change)).toEqual([]);
  });

  it.each<[string, Change]>([
    ["id", { id: "1" }],
    ["action", { action: "" }],
    ["action", { action: `custom.${long(94)}` }],
    ["action", { action: "user.create" }],
    ["action", { action: "custom." }],
    ["resource.type", { resourceType: "" }],
    ["resource.type", { resourceType: "Invoice" }],
    ["resource.type", { resourceType: long(51) }],
    ["resource.id", { resourceId: "" }],
    ["resource.id", { resourceId: long(256) }],
    ["resource.id", { resourceId: "a\u0000" }],
    ["resource.name", { resourceName: long(256) }],
    ["errorMessage", { errorMessage: long(2_001) }],
    ["claimedActor.type", actor({ type: long(51) })],
    ["claimedActor.id", actor({ id: long(256) })],
    ["claimedActor.name", actor({ name: long(256) })],
    ["claimedActor.email", actor({ email: long(256) })],
    ["claimedActor.ipAddress", actor({ ipAddress: long(46) })],
    ["targets.0.type", { targets: [target({ type: long(51) })] }],
    ["targets.0.type", { targets: [target({ type: "A" })] }],
    ["targets.0.id", { targets: [target({ id: "" })] }],
    ["targets.0.id", { targets: [target({ id: long(256) })] }],
    ["targets.0.id", { targets: [target({ id: "a\u0000" })] }],
    ["targets.0.name", { targets: [target({ name: long(256) })] }],
    ["targets.0.name", { targets: [target({ name: "a\u0000" })] }],
    ["targets", { targets: Array.from({ length: mostTargets + 1 }, () => target()) }],
    ["details", { detailsJson: `{"a":"${long(16_377)}"}` }],
    ["details", { detailsJson: "{" }],
    ["details", { detailsJson: "[]" }],
    ["details", { detailsJson: "null" }],
    ["details", { detailsJson: '"a"' }],
    ["details", { detailsJson: '{"claimedActor":{}}' }],
    ["details", { detailsJson: '{"rawResourceId":1}' }],
    ["timestamp", at(-30 * 86_400_000 - 1)],
    ["timestamp", at(5 * 60_000 + 1)],
    ["result", { result: "maybe" }],
  ])("is refused for its %s", (field, change) => {
    expect(refused({}, change)).toEqual([`events.1.${field}`]);
  });
});

describe("a request", () => {
  it("has 1 to 100 events, each with an id of its own", () => {
    expect(refused()).toEqual(["events"]);
    expect(refused(...Array.from({ length: mostEvents }, () => ({})))).toEqual([]);
    expect(refused(...Array.from({ length: mostEvents + 1 }, () => ({})))).toEqual(["events"]);
    expect(refused({ id }, {}, { id: id.toUpperCase() })).toEqual(["events.2.id"]);
  });
});
