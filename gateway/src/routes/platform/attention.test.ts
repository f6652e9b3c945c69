import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { type AttentionSourceName, attentionSources } from "../../clients/services.ts";
import type { Deps } from "../../route/deps.ts";
import type { RouteRequest } from "../../route/route.ts";
import { attentionRoutes } from "./attention.ts";

type Item = { kind: string; recordId: string; orgId: string };
type Answer = { items: object[]; cutKinds: string[] };
const item = (kind: string, recordId: string, minute: number, orgId = "o1") => ({
  ...{
    kind,
    recordId,
    orgId,
    recordType: kind === "certificate" ? "sso_provider" : kind,
    recordName: "N",
    partnerId: "",
    sentence: "S.",
    count: 1,
  },
  since: timestampFromDate(new Date(Date.UTC(2026, 0, 31, 12, minute))),
});

type Listed = { data: (Item & { link: string })[]; cutKinds: string[]; unknownKinds: string[] };
async function list(answers: Partial<Record<AttentionSourceName, () => Answer>>): Promise<Listed> {
  const [row] = attentionRoutes;
  const attention = Object.fromEntries(
    attentionSources.map((name) => [
      name,
      { listAttention: async () => answers[name]?.() ?? { items: [], cutKinds: [] } },
    ]),
  );
  const request = { query: {}, rpc: async () => ({}) } as unknown as RouteRequest;
  return (await row?.handle(request, { services: { attention } } as unknown as Deps)) as Listed;
}

describe("GET /attention", () => {
  it("has the worst kind first and the newest first of each, each with the page of its record", async () => {
    const { data } = await list({
      tenancy: () => ({ items: [item("device", "", 9)], cutKinds: [] }),
      identity: () => ({
        items: [
          item("api_key", "k", 8),
          item("certificate", "c", 7),
          item("sso_provider", "p", 6),
          item("directory", "d", 5),
        ],
        cutKinds: [],
      }),
      audit: () => ({ items: [item("audit_stream", "s", 4)], cutKinds: [] }),
      "webhook-dispatcher": () => ({
        items: [item("webhook", "w1", 2), item("webhook", "w2", 3)],
        cutKinds: ["webhook"],
      }),
      "agent-release": () => ({ items: [item("rollout", "r", 1, "")], cutKinds: [] }),
    });
    expect(data.map(({ link }) => link)).toEqual([
      "/releases/rollouts/r",
      "/webhooks/w2?orgId=o1",
      "/webhooks/w1?orgId=o1",
      "/audit/streams?orgId=o1",
      "/settings/sso/p?orgId=o1",
      "/settings/directories/d?orgId=o1",
      "/settings/sso/c?orgId=o1",
      "/keys?orgId=o1&status=active",
      "/devices?orgId=o1&status=quarantined",
    ]);
  });

  it("names the kinds of a service that does not answer, and of which there are more", async () => {
    const away = () => {
      throw new AppError("unavailable", "away");
    };
    const reply = await list({
      identity: away,
      "webhook-dispatcher": () => ({ items: [item("webhook", "w", 0)], cutKinds: ["webhook"] }),
    });
    expect(reply).toMatchObject({
      data: [{ kind: "webhook" }],
      cutKinds: ["webhook"],
      unknownKinds: ["sso_provider", "directory", "certificate", "api_key"],
    });
  });

  it("passes a refusal on", async () => {
    const refuse = () => {
      throw new AppError("organization_not_found", "Organization not found");
    };
    await expect(list({ tenancy: refuse })).rejects.toMatchObject({ code: "organization_not_found" });
  });
});
