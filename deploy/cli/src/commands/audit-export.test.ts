import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { recordingApi } from "../testing/recording-api.ts";

let api: Awaited<ReturnType<typeof recordingApi>>;
let folder: string;
beforeAll(async () => {
  api = await recordingApi(() => ({ status: 409, body: { error: "Refused", code: "conflict", requestId: "r-1" } }));
  folder = await mkdtemp(join(tmpdir(), "muster-export-"));
});
afterAll(async () => {
  await api.stop();
  await rm(folder, { recursive: true, force: true });
});

it("an export has the rows that filters and times name", async () => {
  await api.muster("audit", "export", "--org", "some-id", "result=denied", "--from", "2026-01-01");
  expect(api.calls.at(-1)).toMatchObject({
    method: "GET",
    path: "/api/v1/audit-logs/export",
    query: { orgId: "some-id", result: "denied", from: "2026-01-01", format: "jsonl" },
  });
});

it("an export in parts has the rows that filters and times name", async () => {
  await api.muster("audit", "export", "--parts", folder, "actions=user.login,user.logout", "--to", "2026-02-01");
  const { method, path, body } = api.calls.at(-1) ?? { body: "{}" };
  expect([method, path, JSON.parse(body)]).toEqual([
    "POST",
    "/api/v1/audit-logs/exports",
    { actions: ["user.login", "user.logout"], to: "2026-02-01" },
  ]);
});
