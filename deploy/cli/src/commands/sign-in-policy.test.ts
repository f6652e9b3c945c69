import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { recordingApi } from "../testing/recording-api.ts";

const policy = { requireSecondFactor: false, effective: { requireSecondFactor: true } };
let orgId: string | null = null;
let api: Awaited<ReturnType<typeof recordingApi>>;
beforeAll(async () => {
  api = await recordingApi(({ path }) => ({ status: 200, body: path.endsWith("/auth/me") ? { orgId } : policy }));
});
afterAll(() => api.stop());

it.each<[string, string[], string | null, string]>([
  ["an organization", ["--org", "some-id"], null, "/api/v1/orgs/organizations/some-id/sign-in-policy"],
  ["the own organization", [], "own-id", "/api/v1/orgs/organizations/own-id/sign-in-policy"],
  ["the own partner", [], null, "/api/v1/orgs/partners/me/sign-in-policy"],
])("mfa policy reads and changes that of %s", async (_whose, args, own, path) => {
  orgId = own;
  expect(await api.muster("mfa", "policy", ...args)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/requireSecondFactor\s+false/),
  });
  expect(api.calls.at(-1)).toMatchObject({ method: "GET", path });
  expect(await api.muster("mfa", "policy", ...args, "--require", "on")).toMatchObject({ code: 0 });
  const { method, body = "", ...called } = api.calls.at(-1) ?? {};
  expect([method, called, JSON.parse(body)]).toMatchObject(["PUT", { path }, { requireSecondFactor: true }]);
});

it("mfa policy --require with another word is wrong usage, and calls nothing", async () => {
  const before = api.calls.length;
  const { code, stderr } = await api.muster("mfa", "policy", "--require", "yes");
  expect([code, api.calls.length]).toEqual([2, before]);
  expect(stderr).toContain("--require takes on or off");
});
