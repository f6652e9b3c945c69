import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { createMusterClient, type MusterClient } from "@muster/client";
import { fullPath } from "../../src/route/route.ts";
import type { Tag } from "../../src/route/tags.ts";
import { routes } from "../../src/routes/index.ts";
import type { Api } from "../support/client.ts";
import { admin, type Cluster } from "../support/cluster.ts";
import { newTenant } from "../support/enroller.ts";
import { newKey } from "../support/keys.ts";
import { operatorToken } from "../support/operator.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { operator } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let muster: MusterClient;
let orgId: string;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  const accessToken = await operatorToken(cluster, admin);
  muster = createMusterClient({ baseUrl: cluster.url, tokens: { accessToken, refreshToken: "" } });
  ({ orgId } = await newTenant(root));
}, 180_000);

const id = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";
const path = { id };
const body = { orgId: id, name: "Berlin" };

/** Reads that any administrator may make. */
const reads: [tag: Tag, call: (c: MusterClient) => Promise<{ error?: unknown; response: Response }>][] = [
  ["Sessions", (c) => c.GET("/api/v1/auth/me")],
  ["Partners", (c) => c.GET("/api/v1/orgs/partners")],
  ["Organizations", (c) => c.GET("/api/v1/orgs/organizations", { params: { query: { limit: "2" } } })],
  ["Sites", (c) => c.GET("/api/v1/orgs/sites", { params: { query: { orgId } } })],
  ["Users", (c) => c.GET("/api/v1/users", { params: { query: { search: "admin" } } })],
  ["Roles", (c) => c.GET("/api/v1/roles")],
  ["Saved views", (c) => c.GET("/api/v1/saved-views", { params: { query: { orgId } } })],
  ["API keys", (c) => c.GET("/api/v1/api-keys", { params: { query: { orgId, status: "active" } } })],
  ["Service principals", (c) => c.GET("/api/v1/service-principals", { params: { query: { orgId } } })],
  ["Enrollment keys", (c) => c.GET("/api/v1/enrollment-keys", { params: { query: { orgId } } })],
  ["Devices", (c) => c.GET("/api/v1/devices", { params: { query: { orgId } } })],
  ["Device groups", (c) => c.GET("/api/v1/device-groups", { params: { query: { orgId } } })],
  ["Audit logs", (c) => c.GET("/api/v1/audit-logs/logs", { params: { query: { limit: "1" } } })],
  ["Webhooks", (c) => c.GET("/api/v1/webhooks", { params: { query: { orgId } } })],
  ["Single sign-on", (c) => c.GET("/api/v1/sso/providers", { params: { query: { orgId } } })],
  ["Single sign-on", (c) => c.GET("/api/v1/sso/presets")],
  ["Directories", (c) => c.GET("/api/v1/directories", { params: { query: { orgId } } })],
  ["Agent releases", (c) => c.GET("/api/v1/agent-versions", { params: { query: { component: "agent" } } })],
  ["Agent releases", (c) => c.GET("/api/v1/agent-versions/rollouts")],
  ["Platform", (c) => c.GET("/health")],
];

/** Calls that are compiled alone: they need an agent, a device or a record. */
const compiled: [tag: Tag, call: (c: MusterClient) => Promise<unknown>][] = [
  ["Agents", (c) => c.POST("/api/v1/agents/{id}/heartbeat", { params: { path }, body: { agentVersion: "1.0.0" } })],
  ["Device logs", (c) => c.GET("/api/v1/devices/{id}/diagnostic-logs", { params: { path } })],
  ["Live event logs", (c) => c.GET("/api/v1/devices/{id}/system-tools/eventlogs", { params: { path } })],
  ["SCIM", (c) => c.GET("/api/v1/scim/v2/Users", {})],
  ["Events", (c) => c.POST("/api/v1/events", { body: { type: "alert.triggered", orgId: id, data: {} } })],
  ["Devices", (c) => c.PATCH("/api/v1/devices/{id}", { params: { path }, body: { hostname: "web-01" } })],
  ["Webhooks", (c) => c.DELETE("/api/v1/webhooks/{id}", { params: { path } })],
  ["Single sign-on", (c) => c.POST("/api/v1/sso/providers", { body: { orgId: id, name: "IdP", type: "oidc" } })],
  ["Single sign-on", (c) => c.POST("/api/v1/sso/exchange", { body: { code: "once" } })],
  [
    "Single sign-on",
    (c) => c.POST("/api/v1/sso/providers/{id}/status", { params: { path }, body: { status: "active" } }),
  ],
  ["Single sign-on", (c) => c.POST("/api/v1/sso/domains/{id}/verify", { params: { path } })],
  [
    "Agent releases",
    (c) => c.POST("/api/v1/agent-versions/promote", { body: { component: "agent", version: "1.4.0" } }),
  ],
  ["Agent releases", (c) => c.POST("/api/v1/agent-versions/rollouts/{id}/pause", { params: { path } })],
  ["Agent releases", (c) => c.GET("/api/v1/devices/{id}/update-decision", { params: { path } })],
  ["Agent releases", (c) => c.PUT("/api/v1/orgs/organizations/{id}/agent-updates", { params: { path }, body: {} })],
  // @ts-expect-error A provider is of type oidc or saml.
  ["Single sign-on", (c) => c.POST("/api/v1/sso/providers", { body: { orgId: id, name: "IdP", type: "ldap" } })],
  // @ts-expect-error A site needs a name.
  ["Sites", (c) => c.POST("/api/v1/orgs/sites", { body: { orgId: id } })],
  // @ts-expect-error There is no such path.
  ["Platform", (c) => c.GET("/api/v1/nothing")],
];

describe("the typed client", () => {
  it("has a call of every tag that the gateway serves", () => {
    const tried = new Set([...reads, ...compiled].map(([tag]) => tag));
    const served = new Set(routes.map(({ tag }) => tag));
    expect([...served].filter((tag) => !tried.has(tag))).toEqual([]);
  });

  it.each(reads)("reads %s", async (_tag, call) => {
    const { error, response } = await call(muster);
    expect([response.status, error]).toEqual([200, undefined]);
  });

  it("creates under an Idempotency-Key, and answers a refusal as a value with its code", async () => {
    const made = await muster.POST("/api/v1/orgs/sites", { body: { ...body, orgId } });
    expect([made.response.status, made.data?.name]).toEqual([201, "Berlin"]);
    const refused = await muster.POST("/api/v1/orgs/sites", { body: { ...body, orgId, timezone: "Mars" } });
    // The code is one of the documented ones, or this does not compile.
    const code: "validation_failed" | undefined =
      refused.error?.code === "validation_failed" ? refused.error.code : undefined;
    expect([code, refused.error?.details?.fieldErrors]).toEqual([
      "validation_failed",
      { timezone: [expect.any(String)] },
    ]);
    const names: string[] = [];
    for await (const site of muster.pages("/api/v1/orgs/sites", { params: { query: { orgId, limit: "1" } } }))
      names.push(site.name);
    expect(names).toContain("Berlin");
  });

  it("names paths as the gateway serves them", () => {
    expect(routes.map(fullPath)).toEqual(expect.arrayContaining(["/api/v1/devices", "/health"]));
  });
});

describe("the examples of the client's README", () => {
  const readme = fileURLToPath(new URL("../../../libs/client/README.md", import.meta.url));
  const expected = [
    /^\d+ devices$/,
    /^site Berlin$/m,
    /^created Berlin\nvalidation_failed name timezone$/,
    /^signed in as system$/,
    /^current[\s\S]*ask again$/,
    /^listening on \d+$/,
  ];

  it("run unchanged", async () => {
    const examples = [...(await readFile(readme, "utf8")).matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) =>
      String(code),
    );
    expect(examples.length).toBe(expected.length);
    const { key } = await newKey(root, orgId, { scopes: ["devices:read", "sites:read", "sites:write"] });
    // Inside the package's folder, so that its name resolves as in a program that has installed it.
    const folder = await mkdtemp(fileURLToPath(new URL("../../dist/readme-", import.meta.url)));
    const env = {
      PATH: process.env.PATH,
      MUSTER_URL: cluster.url,
      MUSTER_API_KEY: key,
      MUSTER_ORG_ID: orgId,
      MUSTER_EMAIL: admin.email,
      MUSTER_PASSWORD: admin.password,
      WEBHOOK_SECRET: "whsec_MDEyMzQ1Njc4OQ==",
    };
    try {
      for (const [index, code] of examples.entries()) {
        const file = `${folder}/example-${index}.mjs`;
        const ends = code.includes("createServer") ? `${code}\nserver.unref();\n` : code;
        await writeFile(file, ends);
        const { stdout } = await promisify(execFile)(process.execPath, [file], { env, timeout: 30_000 });
        expect(stdout.trim()).toMatch(expected[index] as RegExp);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 60_000);
});
