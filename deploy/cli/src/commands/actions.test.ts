import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { access } from "@muster/client/access";
import { actions, idsOf } from "../actions.ts";
import { recordingApi } from "../testing/recording-api.ts";
import { takesFields } from "./actions.ts";

let reply: object = {};
let api: Awaited<ReturnType<typeof recordingApi>>;
beforeAll(async () => {
  api = await recordingApi(() => ({ status: 200, body: reply }));
});
afterAll(() => api.stop());
afterEach(() => {
  reply = {};
  api.calls.splice(0);
});

describe("an action", () => {
  it.each(actions.map((action) => [action.words, action] as const))("%s calls its operation", async (words, action) => {
    const names = idsOf(action);
    const more = takesFields(action) ? [] : action.filters.map((name) => `${name}=x`);
    const ran = await api.muster(...words.split(" "), ...names.map((name) => `an-${name}`), ...more, "--yes");
    const [method, path = ""] = action.operation.split(" ");
    const called = { method, path: path.replace(/\{(\w+)\}/g, "an-$1") };
    expect([ran.code, api.calls]).toEqual([0, [expect.objectContaining(called)]]);
    expect(Object.keys(api.calls[0]?.query ?? {})).toEqual(takesFields(action) ? [] : [...action.filters]);
  });

  it.each(actions.map((action) => [action.words, action] as const))(
    "%s needs --yes without a terminal where it destroys something or shows a secret",
    async (words, action) => {
      const { code } = await api.muster(...words.split(" "), ...idsOf(action).map(() => "some-id"));
      const isGuarded = (access[action.operation]?.effects ?? []).length > 0;
      expect([code, api.calls.length]).toEqual(isGuarded ? [2, 0] : [0, 1]);
    },
  );

  it("sends its fields", async () => {
    await api.muster("groups", "add", "a-group", "deviceIds[]=a", "deviceIds[]=b");
    expect(JSON.parse(api.calls[0]?.body ?? "")).toEqual({ deviceIds: ["a", "b"] });
  });

  it("takes an organization where its rows have one", async () => {
    await api.muster("audit", "report", "sign-ins", "--org", "an-org", "step=1d");
    expect(api.calls[0]?.query).toEqual({ orgId: "an-org", step: "1d" });
  });

  it.each<[string, string[], string]>([
    ["an unknown field", ["sso", "set-status", "some-id", "stats=active"], 'no field "stats"; did you mean "status"?'],
    [
      "an unknown filter",
      ["audit", "report", "sign-ins", "stp=1d"],
      'no filter "stp": known are orgId, from, to, step',
    ],
    ["a word that is no filter", ["directory", "try", "some-id", "ada"], '"ada" is no filter: NAME=VALUE'],
    ["no id", ["users", "disable"], "missing required argument 'id'"],
  ])("refuses %s, and calls nothing", async (_what, args, message) => {
    const { code, stderr } = await api.muster(...args);
    expect([code, api.calls]).toEqual([2, []]);
    expect(stderr).toContain(message);
  });
});

describe("the reply to an action", () => {
  it("is a table where it is one list", async () => {
    reply = { from: "2026-01-01", data: [{ at: "2026-01-01", accepted: 12, refused: 3 }] };
    const { stdout } = await api.muster("audit", "report", "sign-ins");
    expect(stdout).toBe("from  2026-01-01\n\nAT          ACCEPTED  REFUSED\n2026-01-01  12        3\n");
  });

  it("names its lists where it has several, also an empty one of data", async () => {
    reply = { byDay: [{ day: "2026-01-01", total: 2 }], byAction: [{ action: "user.login", total: 2 }] };
    const { stdout } = await api.muster("audit", "report", "categories");
    expect(stdout).toBe("byDay\nDAY         TOTAL\n2026-01-01  2\n\nbyAction\nACTION      TOTAL\nuser.login  2\n");
    reply = { data: [] };
    expect((await api.muster("directory", "mapping", "some-id")).stdout).toBe("None.\n");
  });

  it("leaves objects out of its table", async () => {
    reply = { data: [{ id: "okta", attributeMapping: { email: "email" } }] };
    expect((await api.muster("sso", "presets")).stdout).toBe("ID\nokta\n");
  });

  it("is itself with --json", async () => {
    reply = { ended: 2 };
    expect((await api.muster("users", "end-sessions", "some-id", "--yes", "--json")).stdout).toBe(
      '{\n  "ended": 2\n}\n',
    );
  });
});

it("a text is searched for by the list that takes one, with the other filters", async () => {
  reply = { data: [], pagination: { nextCursor: null } };
  await api.muster("get", "audit-logs", "q=printer", "result=denied");
  expect(api.calls).toMatchObject([{ path: "/api/v1/audit-logs/search", query: { q: "printer", result: "denied" } }]);
});

it("users without a second factor are one filter", async () => {
  reply = { data: [], pagination: { nextCursor: null } };
  await api.muster("get", "users", "mfaEnabled=false");
  expect(api.calls).toMatchObject([{ path: "/api/v1/users", query: { mfaEnabled: "false" } }]);
});
