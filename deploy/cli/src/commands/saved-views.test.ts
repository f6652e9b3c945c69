import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { recordingApi } from "../testing/recording-api.ts";

const views = [
  { id: "view-1", name: "Offline tills", resource: "devices", query: { status: "offline", label: "role=till" } },
  { id: "view-2", name: "Old", resource: "devices", query: { agentVersionRange: "<2" } },
  { id: "view-3", name: "Refused", resource: "audit-logs", query: { result: "denied" } },
];
let api: Awaited<ReturnType<typeof recordingApi>>;
beforeAll(async () => {
  api = await recordingApi(({ path }) => ({
    status: 200,
    body: { data: path.endsWith("/saved-views") ? views : [], pagination: { nextCursor: null } },
  }));
});
afterAll(() => api.stop());
beforeEach(() => void api.calls.splice(0));

it.each(["Offline tills", "view-1"])("rows are listed by the filters of the view %s, and by others", async (view) => {
  const { code } = await api.muster("get", "devices", "--view", view, "os=linux", "--org", "an-org");
  const [first, second] = api.calls;
  expect([code, first?.path]).toEqual([0, "/api/v1/saved-views"]);
  expect(second).toMatchObject({
    path: "/api/v1/devices",
    query: { status: "offline", label: "role=till", os: "linux", orgId: "an-org" },
  });
});

it("a view that does not exist is named with those that do", async () => {
  const { code, stderr } = await api.muster("get", "devices", "--view", "Refused");
  expect([code, api.calls.length]).toEqual([5, 1]);
  expect(stderr).toContain('no saved view "Refused" of devices; there are "Offline tills", "Old"');
});

it("a column that rows do not have is refused with those that they have", async () => {
  const { code, stdout, stderr } = await api.muster("get", "saved-views", "--columns", "name,nme");
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain('no column "nme": known are id, name, resource, query');
});
