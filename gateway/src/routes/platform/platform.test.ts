import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Validator } from "@seriousme/openapi-schema-validator";
import { exampleOf } from "../../openapi/examples.ts";
import { fullPath } from "../../route/route.ts";
import { type FakeServices, startFakeServices } from "../../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../../testing/test-gateway.ts";
import { routes } from "../index.ts";

let services: FakeServices;
let gateway: TestGateway;

beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, { env: { AUDIT_URL: "http://127.0.0.1:1" } });
});

afterAll(async () => {
  await gateway.close();
  await services.close();
});

const get = (path: string) => fetch(`${gateway.url}${path}`);

describe("GET /health", () => {
  it("shows version and state of every service, and no address", async () => {
    const reply = await get("/health");
    const text = await reply.text();
    const ok = { status: "ok", version: "9.9.9" };
    expect(reply.status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      status: "degraded",
      version: "1.2.3",
      services: {
        identity: ok,
        tenancy: ok,
        audit: { status: "unavailable", version: null },
        "device-logs": ok,
        "webhook-dispatcher": ok,
        "agent-release": ok,
      },
    });
    expect(text).not.toContain("127.0.0.1");
  });
});

describe("GET /.well-known/jwks.json", () => {
  it("returns the public keys of access tokens and nothing private", async () => {
    const reply = await get("/.well-known/jwks.json");
    const { keys } = (await reply.json()) as { keys: Record<string, unknown>[] };
    expect(reply.headers.get("content-type")).toBe("application/jwk-set+json");
    expect(keys).toEqual([expect.objectContaining({ kty: "EC", crv: "P-256", kid: "test", use: "sig" })]);
    expect(keys[0]).not.toHaveProperty("d");
  });
});

describe("GET /api/v1/openapi.json", () => {
  type Operation = {
    security: object[];
    requestBody?: { required: boolean; content: Record<string, { example?: unknown }> };
    responses: Record<string, unknown>;
    parameters?: { name: string; in: string }[];
  };
  const load = async () =>
    (await (await get("/api/v1/openapi.json")).json()) as {
      openapi: string;
      paths: Record<string, Record<string, Operation>>;
      components: Components;
    };
  type Components = { schemas: Record<string, { allOf?: { properties?: { code?: { enum: string[] } } }[] }> };

  /** Codes of an error reply: its schema is a component. */
  const codesOf = ({ components }: { components: Components }, reply: unknown): string[] => {
    const [, name = ""] = /"#\/components\/schemas\/(\w+Error\w*)"/.exec(JSON.stringify(reply)) ?? [];
    return components.schemas[name]?.allOf?.[1]?.properties?.code?.enum ?? [];
  };

  it("states that the agent channel switches protocols", async () => {
    const { paths } = await load();
    const responses = paths["/api/v1/agents/{id}/channel"]?.get?.responses ?? {};
    expect(responses["101"]).toHaveProperty("headers.Upgrade");
    expect(responses).not.toHaveProperty("200");
    expect(responses).toHaveProperty("426");
  });

  it("is valid OpenAPI 3.1", async () => {
    const result = await new Validator().validate(await load());
    expect(result).toMatchObject({ valid: true });
  });

  it("describes every row: errors, parameters, security", async () => {
    const { paths } = await load();
    for (const row of routes) {
      const path = fullPath(row).replace(/:([A-Za-z]+)/g, "{$1}");
      const operation = paths[path]?.[row.method.toLowerCase()];
      if (!operation) throw new Error(`${row.method} ${path} is not described`);
      const session = { session: [] };
      const key = { apiKey: [] };
      const security = {
        none: [],
        agent: [{ agent: [] }],
        directory: [{ directory: [] }],
        optional: [{}, session],
        session: [session],
        any: [session, key],
      };
      const takesKeys = row.access.auth === "session" && row.access.keyScopes !== undefined;
      expect(operation.security).toEqual(security[takesKeys ? "any" : row.access.auth]);
      // A row with `refused` sends the browser on instead.
      const failures = row.refused === undefined ? ["500", "503"] : [];
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining([String(row.status ?? 200), "400", "431", ...failures]),
      );
      const inPath = (operation.parameters ?? [])
        .filter((parameter) => parameter.in === "path")
        .map(({ name }) => name);
      expect(inPath).toEqual(Object.keys(row.params?.shape ?? {}));
    }
  });

  it("requires a body only where {} is refused, as an empty body is {}", async () => {
    const { paths } = await load();
    const required = (path: string, method = "post") => paths[`/api/v1${path}`]?.[method]?.requestBody?.required;
    expect(required("/api-keys/{id}/rotate")).toBe(false);
    expect(required("/enrollment-keys/{id}/rotate")).toBe(false);
    expect(required("/webhooks/{id}/test")).toBe(false);
    expect(required("/api-keys")).toBe(true);
    expect(required("/api-keys/{id}", "patch")).toBe(true);
    expect(required("/service-principals/{id}/migrate-key")).toBe(true);
  });

  it("lists each operation's requirements, the codes of each error, a description of each tag and scheme", async () => {
    type Tagged = { name: string; description: string };
    const document = (await load()) as unknown as {
      info: { description: string };
      servers: { url: string }[];
      tags: Tagged[];
      components: Components & { securitySchemes: Record<string, { description: string }> };
      paths: Record<string, Record<string, Record<string, unknown>>>;
    };
    expect(document.servers).toEqual([{ url: "/" }]);
    for (const words of ["/auth/login", "/auth/mfa/verify", "X-API-Key"])
      expect(document.info.description).toContain(words);
    for (const { description } of [...document.tags, ...Object.values(document.components.securitySchemes)])
      expect(description).toMatch(/\w/);
    expect(document.paths["/api/v1/api-keys"]?.post?.["x-access"]).toEqual({
      auth: "session",
      permission: "organizations:write",
      mfa: true,
      scopes: null,
      keyScopes: null,
      portal: null,
      allSites: true,
    });
    for (const row of routes) {
      const operation = document.paths[fullPath(row).replace(/:([A-Za-z]+)/g, "{$1}")]?.[row.method.toLowerCase()];
      expect(operation?.["x-access"]).toMatchObject({ auth: row.access.auth });
      expect(document.tags.map(({ name }) => name)).toContain(row.tag);
      const replies = Object.entries(operation?.responses as Record<string, unknown>);
      // Errors of SCIM have no code.
      if (row.dialect !== undefined) continue;
      const answered = Object.keys(row.answers ?? {}); // Without a body, so without a code.
      for (const [status, reply] of replies.filter(([code]) => Number(code) >= 400 && !answered.includes(code))) {
        if (codesOf(document, reply).length === 0) throw new Error(`${row.method} ${row.path} ${status} lists no code`);
      }
    }
  });

  it("lists the error for an unknown organization wherever a call may name one", async () => {
    const document = await load();
    const { paths } = document;
    const names = (schema: object | undefined) => Object.keys((schema as { shape?: object })?.shape ?? {});
    const naming = routes.filter((row) => [...names(row.query), ...names(row.body)].includes("orgId"));
    expect(naming.length).toBeGreaterThan(20);
    for (const row of naming) {
      const operation = paths[fullPath(row).replace(/:([A-Za-z]+)/g, "{$1}")]?.[row.method.toLowerCase()];
      const codes = Object.values(operation?.responses ?? {}).flatMap((reply) => codesOf(document, reply));
      expect([row.method, row.path, codes.join(" ")]).toEqual([
        row.method,
        row.path,
        expect.stringMatching(/\borganization_(not_found|access_denied)\b/),
      ]);
    }
  });

  it("states that a shorter retention of audit rows waits for 24 hours", async () => {
    const { paths } = await load();
    const operation = JSON.stringify(paths["/api/v1/audit-logs/retention"]?.patch?.requestBody);
    expect(operation).toMatch(/"retentionDays":\{[^}]*shorter retention waits 24 hours/);
  });

  it("shows the example of each body", async () => {
    const { paths } = await load();
    for (const row of routes.filter(({ body }) => body)) {
      const operation = paths[fullPath(row).replace(/:([A-Za-z]+)/g, "{$1}")]?.[row.method.toLowerCase()];
      const [content] = Object.values(operation?.requestBody?.content ?? {});
      expect([row.method, row.path, content?.example]).toEqual([row.method, row.path, exampleOf(row)]);
    }
  });

  it("has a valid example of each body, which changes something where an empty change is refused", () => {
    for (const row of routes.filter(({ body }) => body)) {
      const example = exampleOf(row);
      expect([row.method, row.path, row.body?.safeParse(example).error]).toEqual([row.method, row.path, undefined]);
      if (row.method === "PATCH")
        expect(Object.keys(example as object).filter((key) => key !== "orgId")).not.toEqual([]);
    }
  });

  it("names the content type of each reply", async () => {
    const { paths } = await load();
    const reply = paths["/.well-known/jwks.json"]?.get?.responses["200"];
    expect(Object.keys((reply as { content: object }).content)).toEqual(["application/jwk-set+json"]);
  });

  it("refers only to schemas it holds", async () => {
    const document = (await load()) as unknown as { components: { schemas: Record<string, unknown> } };
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name,
    );
    expect(references.length).toBeGreaterThan(10);
    for (const name of references) expect(Object.keys(document.components.schemas)).toContain(name);
  });
});

describe("GET /docs", () => {
  it("is a page whose every asset is served from here", async () => {
    const reply = await get("/docs");
    const html = await reply.text();
    expect(reply.status).toBe(200);
    expect(reply.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address as string);
    expect(assets.length).toBe(4);
    for (const address of assets) {
      expect(address).toMatch(/^\/docs\/assets\//);
      const part = await get(address);
      // Read to its end: an unread reply keeps its connection open.
      expect((await part.arrayBuffer()).byteLength).toBeGreaterThan(0);
      expect(part.status).toBe(200);
    }
  });

  it("serves no other file, and answers unknown paths with the error body", async () => {
    for (const path of ["/docs/assets/package.json", "/docs/nothing", "/docs/assets/index.html"]) {
      const reply = await get(path);
      expect(reply.status).toBe(404);
      expect(await reply.json()).toMatchObject({ code: "not_found", requestId: reply.headers.get("x-request-id") });
    }
  });
});
