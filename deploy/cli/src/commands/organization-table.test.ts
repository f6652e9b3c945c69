import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { recordingApi } from "../testing/recording-api.ts";

const names = new Map([
  ["org-1", "Acme"],
  ["org-2", "Globex"],
]);
const device = (id: string, orgId: string) => ({
  id,
  hostname: `host-${id}`,
  os: "linux",
  agentVersion: "1.0.0",
  status: "online",
  lastSeenAt: null,
  orgId,
});
let api: Awaited<ReturnType<typeof recordingApi>>;
let caller: { orgId: string | null };
let mayListOrganizations: boolean;
beforeEach(async () => {
  [caller, mayListOrganizations] = [{ orgId: null }, true];
  const list = (data: object[]) => ({ status: 200, body: { data, pagination: { nextCursor: null } } });
  api = await recordingApi(({ path, query }) => {
    if (path.endsWith("/auth/me")) return { status: 200, body: caller };
    if (path.endsWith("/devices")) return list(query.status ? [] : [device("1", "org-2"), device("2", "org-1")]);
    if (mayListOrganizations) return list([...names].map(([id, name]) => ({ id, name })));
    return { status: 403, body: { error: "Forbidden", code: "forbidden", requestId: "a" } };
  });
});
afterEach(() => api.stop());
const rows = async (...args: string[]) =>
  (await api.muster("get", "devices", ...args)).stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(/ {2,}/));

it("rows of several organizations have their organization by name", async () => {
  expect((await rows()).map((cells) => cells.slice(0, 4))).toEqual([
    ["ID", "HOSTNAME", "ORGANIZATION", "OS"],
    ["1", "host-1", "Globex", "linux"],
    ["2", "host-2", "Acme", "linux"],
  ]);
});

it("a caller who may not list organizations reads their ids", async () => {
  mayListOrganizations = false;
  expect((await rows()).map((cells) => cells[2])).toEqual(["ORGANIZATION", "org-2", "org-1"]);
});

it("a caller of one organization has no such column", async () => {
  caller.orgId = "org-1";
  expect((await rows())[0]).not.toContain("ORGANIZATION");
});

it.each([["--org", "org-1"], ["--columns", "id,orgId"], ["--csv"], ["--json"], ["status=offline"]])(
  "only the list is read with %s %s",
  async (...args: string[]) => {
    await rows(...args);
    expect(api.calls.map(({ path }) => path)).toEqual(["/api/v1/devices"]);
  },
);
