import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { recordingApi } from "../testing/recording-api.ts";

let refusal: string | null = null;
let api: Awaited<ReturnType<typeof recordingApi>>;
beforeAll(async () => {
  api = await recordingApi(({ body }) => {
    const { deviceIds = [] } = JSON.parse(body) as { deviceIds?: string[] };
    const results = deviceIds.map((id) => ({ id, code: refusal, error: refusal && "Permission denied" }));
    return { status: 200, body: { results } };
  });
});
afterAll(() => api.stop());
afterEach(() => {
  refusal = null;
  api.calls.splice(0);
});

describe("devices bulk with ids", () => {
  it.each<[string, string[], string, object]>([
    ["moves them", ["update", "--site", "osaka"], "bulk-update", { change: { siteId: "osaka" } }],
    ["takes them out of their site", ["update", "--site", "none"], "bulk-update", { change: { siteId: null } }],
    ["decommissions them", ["decommission"], "bulk-decommission", {}],
    ["approves them", ["approve"], "bulk-review", { action: "approve" }],
  ])("%s", async (_what, [action = "", ...more], path, body) => {
    const { code, stdout } = await api.muster("devices", "bulk", action, "a", "b", ...more, "--yes");
    expect([code, stdout]).toEqual([0, "a done\nb done\n"]);
    expect(api.calls.map((call) => [call.path, JSON.parse(call.body)])).toEqual([
      [`/api/v1/devices/${path}`, { deviceIds: ["a", "b"], ...body }],
    ]);
  });

  it("sends a hundred in one call", async () => {
    const ids = Array.from({ length: 101 }, (_, at) => `id-${at}`);
    await api.muster("devices", "bulk", "update", ...ids, "--auto-update", "off", "--yes");
    expect(api.calls.map(({ body }) => JSON.parse(body).deviceIds.length)).toEqual([100, 1]);
  });

  it("says of each refusal why, and which permission is missing", async () => {
    refusal = "permission_denied";
    const { code, stdout, stderr } = await api.muster("devices", "review", "merge", "a", "--yes");
    expect([code, stdout]).toEqual([1, "a permission_denied: Permission denied\n"]);
    expect(stderr).toContain("1 of 1 were refused; merge, reject and decommission need the permission devices:delete");
  });
});
