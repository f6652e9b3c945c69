import { request } from "node:http";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let orgId: string;
let admin: Awaited<ReturnType<typeof signedInAs>>;

beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  orgId = await newOrganization(cluster, await newPartner(cluster));
  for (const name of ["=1+1", "two, three"]) await newSite(cluster, orgId, { name });
  admin = await signedInAs(cluster, "org-admin", { orgId });
  await rowsOf("site.create", 2);
}, 240_000);

async function rowsOf(action: string, count: number): Promise<Record<string, unknown>[]> {
  return until(`${count} rows of ${action}`, async () => {
    const { body } = await root.call("GET", `/audit-logs/logs?orgId=${orgId}&action=${action}`);
    const rows = body.data as Record<string, unknown>[] | undefined;
    return rows?.length === count ? rows : null;
  });
}

type File = { status: number; headers: Headers; text: string };
async function download(query: string, headers: Record<string, string>): Promise<File> {
  const reply = await fetch(`${cluster.url}/api/v1/audit-logs/export${query}`, { headers });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}
async function head(query: string): Promise<File> {
  const url = `${cluster.url}/api/v1/audit-logs/export${query}`;
  const reply = await fetch(url, { method: "HEAD", headers: bearer() });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}
const bearer = () => ({ authorization: `Bearer ${admin.accessToken}` });

describe("GET /audit-logs/export", () => {
  it("streams CSV that no spreadsheet runs, reports whether it was cut, and is never cached", async () => {
    const { status, headers, text } = await download("?format=csv&action=site.create", bearer());
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect([headers.get("x-export-truncated"), headers.get("x-export-rows")]).toEqual(["false", "2"]);
    expect(Date.parse(headers.get("x-export-as-of") ?? "")).toBeLessThanOrEqual(Date.now());
    expect(headers.get("content-disposition")).toContain('filename="audit-logs.csv"');
    expect([headers.get("cache-control"), headers.get("x-request-id") !== null]).toEqual(["private, no-store", true]);
    expect(headers.get("x-ratelimit-limit")).not.toBeNull();
    expect(text).toContain(`"'=1+1"`);
    expect(text).toContain('"two, three"');
  });

  it("has headers alone for HEAD, again and again", async () => {
    for (let n = 0; n < 5; n++) {
      const { headers, text } = await head("?format=csv&action=site.create");
      expect([headers.get("x-export-rows"), text]).toEqual(["2", ""]);
    }
    expect((await download("?format=csv&action=site.create", bearer())).status).toBe(200);
  });

  it("has the requested columns in their order", async () => {
    const { text } = await download("?format=csv&action=site.create&columns=action,actorEmail", bearer());
    const [header, ...lines] = text.trimEnd().split("\r\n");
    expect(header).toBe("action,actorEmail");
    expect(lines.map((line) => line.split(",")[0])).toEqual(["site.create", "site.create"]);
  });

  it("streams JSON lines that end in a signed digest", async () => {
    const { text } = await download("?format=jsonl", bearer());
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({ type: "end", truncated: false, note: expect.stringContaining("muster") });
    expect(lines.filter(({ type }) => type === "row")).toHaveLength(lines.at(-1).rows);
    expect(lines.at(-2)).toMatchObject({ type: "chain", chainId: orgId });
  });

  it("refuses with an error body, and answers 404 for an organization outside of the access scope", async () => {
    const other = await newOrganization(cluster, await newPartner(cluster));
    for (const [query, status, code] of [
      ["?format=xml", 400, "validation_failed"],
      ["?columns=nonsense", 400, "validation_failed"],
      ["?format=jsonl&columns=action", 400, "validation_failed"],
      [`?orgId=${other}`, 404, "organization_not_found"],
      ["?from=nonsense", 400, "validation_failed"],
    ] as const) {
      const reply = await download(query, bearer());
      expect([reply.status, JSON.parse(reply.text).code]).toEqual([status, code]);
    }
    expect((await download("", {})).status).toBe(401);
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    const refused = await download("", { authorization: `Bearer ${viewer.accessToken}` });
    expect([refused.status, JSON.parse(refused.text).code]).toEqual([403, "permission_denied"]);
  });

  it("takes API keys with audit:read alone", async () => {
    const keyWith = async (scopes: string[]) => {
      const { body } = await root.call("POST", "/api-keys", { orgId, name: "export", scopes });
      return String(body.key);
    };
    expect((await download("", { "x-api-key": await keyWith(["audit:read"]) })).status).toBe(200);
    expect((await download("", { "x-api-key": await keyWith(["devices:read"]) })).status).toBe(403);
  });

  it("leaves one data.export row each, with its caller as actor", async () => {
    const viewer = await signedInAs(cluster, "org-admin", { orgId });
    const headers = { authorization: `Bearer ${viewer.accessToken}` };
    await download("?format=jsonl&action=site", headers);
    const mine = await until("the row", async () => {
      const { body } = await root.call("GET", `/audit-logs/logs?orgId=${orgId}&action=data.export`);
      const rows = (body.data ?? []) as { user: { id: string }; details: object; category: string }[];
      const own = rows.filter(({ user }) => user.id === viewer.id);
      return own.length > 0 ? own : null;
    });
    expect(mine).toHaveLength(1);
    expect(mine[0]).toMatchObject({
      category: "compliance",
      details: { format: "jsonl", rows: 2, filter: { action: "site" } },
    });
  });

  it("tolerates a client that disconnects at once", async () => {
    await new Promise<void>((resolve, reject) => {
      const call = request(`${cluster.url}/api/v1/audit-logs/export`, { headers: bearer() }, (reply) => {
        reply.destroy();
        resolve();
      });
      call.on("error", reject).end();
    });
    expect((await download("", bearer())).status).toBe(200);
  });
});

describe("reports", () => {
  it.each(["categories", "user-activity", "security-events", "compliance"])(
    "%s counts the organization's rows",
    async (name) => {
      const { status, body } = await admin.api.call("GET", `/audit-logs/reports/${name}`);
      expect(status).toBe(200);
      const counts = body.counts as { total: number; success: number; failure: number; denied: number };
      expect(counts.success + counts.failure + counts.denied).toBe(counts.total);
      const byDay = body.byDay as { total: number }[];
      expect(byDay.reduce((sum, { total }) => sum + total, 0)).toBe(counts.total);
      if (name === "categories") {
        expect(
          (body.byAction as { action: string; total: number }[]).find(({ action }) => action === "site.create")?.total,
        ).toBe(2);
      }
    },
  );
});

describe("/audit-logs/retention", () => {
  it("is shown with its defaults, changed with a factor, and a shorter one waits", async () => {
    const path = `/audit-logs/retention?orgId=${orgId}`;
    const before = await root.call("GET", path);
    expect(before.body).toMatchObject({
      orgId,
      retentionDays: 365,
      archiveToS3: false,
      pendingRetentionDays: null,
      pendingFrom: null,
    });
    const shorter = await root.call("PATCH", "/audit-logs/retention", { orgId, retentionDays: 90 });
    expect(shorter.body).toMatchObject({
      retentionDays: 365,
      pendingRetentionDays: 90,
      pendingFrom: expect.any(String),
    });
    const longer = await root.call("PATCH", "/audit-logs/retention", { orgId, retentionDays: 730, archiveToS3: true });
    expect(longer.body).toMatchObject({ retentionDays: 730, archiveToS3: true, pendingRetentionDays: null });
    expect((await rowsOf("audit.retention.update", 2))[0]).toMatchObject({
      details: { changes: { before: { retentionDays: 365, archiveToS3: false }, after: { retentionDays: 730 } } },
    });
    const none = await root.call("PATCH", "/audit-logs/retention", { orgId });
    expect([none.status, none.body.code]).toEqual([400, "no_updates"]);
    const nowhere = await root.call("PATCH", "/audit-logs/retention", { retentionDays: 90 });
    expect([nowhere.status, nowhere.body.code]).toEqual([400, "organization_context_required"]);
  });
});
