import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { recordingApi } from "../testing/recording-api.ts";

const sentence =
  `It ends at 2026-12-02T21:06:55.579Z: ${"rotate it before the programs that use it stop. ".repeat(3)}`.trim();
const item = {
  kind: "api_key",
  record: { type: "api_key", id: "key-1", name: "ci" },
  orgId: "org-1",
  partnerId: null,
  count: 1,
  since: "2026-11-27T21:06:55.585Z",
  sentence,
  link: "/keys",
};

let api: Awaited<ReturnType<typeof recordingApi>>;
beforeAll(async () => {
  api = await recordingApi(({ path }) =>
    path === "/api/v1/attention"
      ? { status: 200, body: { data: [item], cutKinds: [], unknownKinds: [] } }
      : { status: 403, body: { error: "For users", code: "user_session_required", requestId: "r-1" } },
  );
});
afterAll(() => api.stop());

it("status shows sentences in whole, and a key's status needs nothing that keys are refused", async () => {
  const { code, stdout } = await api.muster("status");
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining(`ci      key-1  org-1         2026-11-27T21:06:55.585Z  ${sentence}`),
  ]);
});
