import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { recordingApi } from "../testing/recording-api.ts";

let api: Awaited<ReturnType<typeof recordingApi>>;
beforeAll(async () => {
  api = await recordingApi(() => ({ status: 200, body: { retentionDays: 365, archiveToS3: false } }));
});
afterAll(() => api.stop());

it("retention without a change is read only", async () => {
  expect(await api.muster("audit", "retention", "--org", "some-id")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/retentionDays\s+365/),
  });
  expect(api.calls.at(-1)).toMatchObject({ method: "GET", query: { orgId: "some-id" } });
});

it.each<[string, string[], object]>([
  ["days", ["--days", "400"], { retentionDays: 400 }],
  ["the archive", ["--archive", "off"], { archiveToS3: false }],
])("retention changes %s alone", async (_what, args, body) => {
  expect(await api.muster("audit", "retention", "--org", "some-id", ...args)).toMatchObject({ code: 0 });
  const { method, body: sent = "" } = api.calls.at(-1) ?? {};
  expect([method, JSON.parse(sent)]).toEqual(["PATCH", { orgId: "some-id", ...body }]);
});

it.each([
  [["--days", "long"], '--days takes a whole number, not "long"'],
  [["--archive", "yes"], "--archive takes on or off"],
])("retention %j is wrong usage", async (args, message) => {
  const before = api.calls.length;
  const { code, stderr } = await api.muster("audit", "retention", ...args);
  expect([code, api.calls.length]).toEqual([2, before]);
  expect(stderr).toContain(message);
});
