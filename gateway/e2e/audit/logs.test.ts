import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs } from "../support/users.ts";

type Flat = {
  id: string;
  action: string;
  resource: string;
  resourceType: string;
  details: string;
  changes: { before: object; after: Record<string, unknown> };
};
type Detailed = { id: string; action: string; orgId: string | null; resource: { id: string; name: string | null } };
type Pagination = {
  page: number;
  limit: number;
  total: number | null;
  totalPages: number | null;
  nextCursor: string | null;
};

let cluster: Cluster;
let root: Api;
let partnerId: string;
let orgId: string;
let otherOrgId: string;
let orgAdmin: Api;
let siteName: string;

beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  partnerId = await newPartner(cluster);
  orgId = await newOrganization(cluster, partnerId);
  otherOrgId = await newOrganization(cluster, partnerId);
  siteName = `100%_site ${randomUUID()}`;
  for (const name of [siteName, "second", "third"]) await newSite(cluster, orgId, { name });
  await newSite(cluster, otherOrgId);
  orgAdmin = (await signedInAs(cluster, "org-admin", { orgId })).api;
  for (const [id, sites] of [
    [orgId, 3],
    [otherOrgId, 1],
  ] as const) {
    await until("the sealed rows", async () => {
      const { body } = await root.call("GET", `/audit-logs?orgId=${id}&action=site.create`);
      return (body.pagination as Pagination | undefined)?.total === sites;
    });
  }
}, 240_000);

type Read = { entries?: Flat[]; data?: unknown[]; query?: string; pagination: Pagination };
const read = async (by: Api, path: string): Promise<Read> => {
  const { status, body } = await by.call("GET", `/audit-logs${path}`);
  if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
  return { ...body, pagination: body.pagination as Pagination };
};
const detailed = async (by: Api, path: string) => (await read(by, path)).data as Detailed[];
const everySite = (name: string) => `q=${encodeURIComponent(name)}`;

describe("GET /audit-logs", () => {
  it("returns flat entries in the documented shape", async () => {
    const body = await read(orgAdmin, `?action=site.create&resource=${encodeURIComponent(siteName)}`);
    const entries = body.entries ?? [];
    expect(Object.keys(body).sort()).toEqual(["entries", "pagination"]);
    expect(body.pagination).toMatchObject({ page: 1, limit: 50, total: 1, totalPages: 1 });
    expect(entries).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        action: "site.create",
        resource: siteName,
        resourceType: "site",
        details: expect.any(String),
        ipAddress: "127.0.0.1",
        userAgent: expect.any(String),
        sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        user: { name: "Operator", email: "operator@muster.local", role: "platform-admin", department: null },
        changes: { before: {}, after: expect.objectContaining({ name: siteName }) },
      },
    ]);
    const [entry] = entries;
    expect(JSON.parse(entry?.details ?? "")).toMatchObject({ changes: entry?.changes });
    expect(entry?.details).toBe(JSON.stringify(JSON.parse(entry?.details ?? "")));
  });
});

describe("GET /audit-logs/logs and /logs/:id", () => {
  it("returns detailed rows, and the same row by its id", async () => {
    const [row] = await detailed(orgAdmin, `/logs?resource=${encodeURIComponent(siteName)}`);
    expect(row).toMatchObject({
      orgId,
      action: "site.create",
      category: "system",
      result: "success",
      user: { email: "operator@muster.local", role: "platform-admin" },
      resource: { type: "site", name: siteName },
      details: { changes: { before: {} } },
    });
    expect((await orgAdmin.call("GET", `/audit-logs/logs/${row?.id}`)).body).toEqual(row);
  });

  it("does not know another organization's row, nor one that is missing", async () => {
    const [other] = await detailed(root, `/logs?orgId=${otherOrgId}`);
    for (const id of [other?.id, randomUUID()]) {
      const { status, body } = await orgAdmin.call("GET", `/audit-logs/logs/${id}`);
      expect([status, body.code]).toEqual([404, "audit_log_not_found"]);
    }
    const malformed = await orgAdmin.call("GET", "/audit-logs/logs/nonsense");
    expect([malformed.status, malformed.body.code]).toEqual([400, "validation_failed"]);
  });
});

describe("GET /audit-logs/search", () => {
  it.each([
    ["the action", "SITE.CREATE", 3],
    ["the actor's e-mail", "Operator@Muster", 3],
    ["the resource's name", "ecOND", 1],
    ["percent and underscore as themselves", "100%_SITE", 1],
    ["percent alone as itself", "1%s", 0],
    ["underscore alone as itself", "0_s", 0],
    ["nothing", "no such text anywhere", 0],
  ])("finds %s", async (_name, q, count) => {
    const body = await read(orgAdmin, `/search?q=${encodeURIComponent(q)}&action=site.create`);
    expect(Object.keys(body).sort()).toEqual(["data", "pagination", "query"]);
    expect([(body.data as Detailed[]).length, body.query]).toEqual([count, q]);
    expect(body.pagination).toMatchObject({ total: count, totalPages: count === 0 ? 0 : 1 });
  });

  it("finds text in the details, together with filters", async () => {
    const after = `/search?q=${encodeURIComponent('"name": "second"')}`;
    expect((await detailed(orgAdmin, after)).map((row) => row.resource.name)).toContain("second");
    expect(await detailed(orgAdmin, `${after}&action=site.delete`)).toEqual([]);
  });

  it.each(["", "?q=", `?q=${"x".repeat(256)}`, "?q=a&q=b"])("answers 400 for %j", async (query) => {
    const { status, body } = await orgAdmin.call("GET", `/audit-logs/search${query}`);
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(Object.keys((body.details as { fieldErrors: object }).fieldErrors)).toEqual(["q"]);
  });
});

describe.each(["", "/logs", "/search"])("every list: GET /audit-logs%s", (path) => {
  const list = async (by: Api, query = "") => {
    const body = await read(by, `${path}?${path === "/search" ? "q=site&" : ""}action=site.create${query}`);
    const rows = (body.entries ?? body.data) as { id: string; timestamp: string }[];
    return { rows, pagination: body.pagination };
  };
  const refused = async (by: Api, query: string) => {
    const { status, body } = await by.call("GET", `/audit-logs${path}?${path === "/search" ? "q=site&" : ""}${query}`);
    return [status, body.code];
  };

  it.each([
    ["limit=0", 1, 1],
    ["limit=1000", 1, 100],
    ["limit=abc", 1, 50],
    ["page=-1&limit=2", 1, 2],
    ["page=2&limit=2", 2, 2],
  ])("clamps %s", async (query, page, limit) => {
    const { pagination } = await list(orgAdmin, `&${query}`);
    expect(pagination).toMatchObject({ page, limit, total: 3, totalPages: Math.ceil(3 / limit) });
  });

  it("counts nothing under skipCount", async () => {
    const { rows, pagination } = await list(orgAdmin, "&skipCount=true");
    expect(rows).toHaveLength(3);
    expect(pagination).toMatchObject({ total: null, totalPages: null });
  });

  it("walks by cursor through what pages show", async () => {
    const all = (await list(orgAdmin)).rows;
    expect(all.map((row) => row.timestamp)).toEqual(
      all
        .map((row) => row.timestamp)
        .sort()
        .reverse(),
    );
    const walked: unknown[] = [];
    let cursor: string | null = null;
    do {
      const reply = await list(orgAdmin, `&limit=2${cursor ? `&cursor=${cursor}` : ""}`);
      walked.push(...reply.rows);
      cursor = reply.pagination.nextCursor;
    } while (cursor);
    expect(walked).toEqual(all);
  });

  it("filters by time and leaves actions out", async () => {
    const [newest] = (await list(orgAdmin)).rows;
    const from = encodeURIComponent(newest?.timestamp ?? "");
    expect((await list(orgAdmin, `&from=${from}`)).rows.map((row) => row.id)).toContain(newest?.id);
    expect((await list(orgAdmin, "&to=2020-01-01")).rows).toEqual([]);
    expect((await list(orgAdmin, "&excludeActions=site.create,site.update")).rows).toEqual([]);
    expect((await list(orgAdmin, "&excludeActions=site.update")).rows).toHaveLength(3);
    expect((await list(orgAdmin, "&user=OPERATOR@")).rows).toHaveLength(3);
    expect((await list(orgAdmin, "&user=nobody")).rows).toEqual([]);
  });

  it.each(["from=yesterday", "to=1", "orgId=7", "cursor=nonsense", "skipCount=perhaps"])(
    "answers 400 for %s",
    async (query) => {
      expect(await refused(orgAdmin, query)).toEqual([400, "validation_failed"]);
    },
  );

  it("knows no organization outside of the access scope", async () => {
    expect(await refused(orgAdmin, `orgId=${otherOrgId}`)).toEqual([404, "organization_not_found"]);
    expect(await refused(root, `orgId=${randomUUID()}`)).toEqual([404, "organization_not_found"]);
    expect((await list(root, `&orgId=${otherOrgId}`)).rows).toHaveLength(1);
    expect((await list(orgAdmin, `&orgId=${orgId}`)).rows).toHaveLength(3);
  });

  it("needs a session", async () => {
    expect((await refused(api(cluster), "page=1"))[0]).toBe(401);
  });
});

describe("partner users", () => {
  it("read their partner's chain and the organizations in their scope", async () => {
    const [all, some] = await Promise.all([
      signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" }),
      signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "selected", orgIds: [otherOrgId] }),
    ]);
    const chains = async (by: Api) => new Set((await detailed(by, "/logs?limit=100")).map((row) => row.orgId));
    expect(await chains(all.api)).toEqual(new Set([null, orgId, otherOrgId]));
    expect(await chains(some.api)).toEqual(new Set([null, otherOrgId]));
    expect(await detailed(some.api, `/search?${everySite(siteName)}`)).toEqual([]);
    const { status, body } = await some.api.call("GET", `/audit-logs?orgId=${orgId}`);
    expect([status, body.code]).toEqual([404, "organization_not_found"]);
    const [row] = await detailed(root, `/logs?orgId=${orgId}`);
    expect((await all.api.call("GET", `/audit-logs/logs/${row?.id}`)).status).toBe(200);
    expect((await some.api.call("GET", `/audit-logs/logs/${row?.id}`)).status).toBe(404);
  });
});

describe("people limited to some sites", () => {
  it("read no audit logs: a trail covers the whole organization", async () => {
    const siteId = await newSite(cluster, otherOrgId);
    const limited = await signedInAs(cluster, "org-admin", { orgId: otherOrgId, siteIds: [siteId] });
    for (const path of ["", "/logs", "/search?q=x", `/logs/${randomUUID()}`]) {
      const { status, body } = await limited.api.call("GET", `/audit-logs${path}`);
      expect([status, body.code]).toEqual([403, "site_restricted"]);
    }
  });
});
