import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { recordingApi } from "../testing/recording-api.ts";

const field = <T>(value: T) => ({
  value,
  effective: value,
  source: "organization",
  lockedBy: null as string | null,
});
/** Settings of an organization that is pinned, goes back, and has a window. */
const settings = {
  fields: {
    agentTarget: field("1.3.0"),
    watchdogTarget: field(null),
    updatePolicy: field("automatic"),
    windowDays: field(["sat"]),
    windowStart: field("22:00"),
    windowEnd: field("04:00"),
  },
  allowDowngrade: true,
  rollbackNote: "a note",
};
const kept = {
  agentTarget: "1.3.0",
  watchdogTarget: null,
  updatePolicy: "automatic",
  windowDays: ["sat"],
  windowStart: "22:00",
  windowEnd: "04:00",
};

let api: Awaited<ReturnType<typeof recordingApi>>;
beforeAll(async () => {
  api = await recordingApi(({ path }) => ({
    status: 200,
    body: path.endsWith("/auth/me") ? { orgId: "own-id" } : settings,
  }));
});
afterAll(() => api.stop());

it.each<[string, string[], object]>([
  [
    "a policy changes nothing else",
    ["policy", "manual"],
    { ...kept, updatePolicy: "manual", allowDowngrade: true, rollbackNote: "a note" },
  ],
  [
    "no policy is none",
    ["policy", "none"],
    { ...kept, updatePolicy: null, allowDowngrade: true, rollbackNote: "a note" },
  ],
  ["a pin ends the way back of the one before", ["pin", "1.4.0"], { ...kept, agentTarget: "1.4.0" }],
])("%s", async (_what, args, body) => {
  const { code } = await api.muster("releases", ...args, "--org", "some-id");
  expect(code).toBe(0);
  const { method, path, body: sent = "" } = api.calls.at(-1) ?? {};
  expect([method, path, JSON.parse(sent)]).toEqual(["PUT", "/api/v1/orgs/organizations/some-id/agent-updates", body]);
});

it("a policy without an organization is that of the caller's own", async () => {
  await api.muster("releases", "policy", "manual");
  expect(api.calls.at(-1)).toMatchObject({ method: "PUT", path: "/api/v1/orgs/organizations/own-id/agent-updates" });
});

it("a field that the partner locks is said to have no effect", async () => {
  settings.fields.updatePolicy = { ...field("manual"), effective: "automatic", source: "partner", lockedBy: "partner" };
  const { stdout, stderr } = await api.muster("releases", "policy", "manual", "--org", "some-id");
  expect(stdout).toMatch(/^updatePolicy +manual +automatic +partner$/m);
  expect(stderr).toContain(
    "The partner has set updatePolicy: the organization's own counts once the partner unsets it.",
  );
});
