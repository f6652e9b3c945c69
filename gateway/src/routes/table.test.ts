import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { type PortalCapability, portalCapabilities, type Scope, servedScopes } from "@muster/kit";
import { PortalRecordSchema } from "@muster/proto/muster/identity/v1/portal_pb";
import { callers } from "@muster/testing";
import { additionalRows, type InterfaceRow, interfaceRows } from "../../e2e/interface-rows/all.ts";
import { checkAccess } from "../auth/authenticate.ts";
import { buildRouteTable } from "../http/route-table.ts";
import type { PortalHolder } from "../route/credential.ts";
import { fullPath, type Route } from "../route/route.ts";
import { exampleId } from "./fields/schemas.ts";
import { routes } from "./index.ts";

/** Method and path with parameters unnamed and without a trailing slash. */
const keyOf = (method: string, path: string) => `${method} ${path.replace(/:[A-Za-z]+/g, ":").replace(/(.)\/$/, "$1")}`;
const keyOfRow = ({ method, path }: InterfaceRow) =>
  keyOf(method, path.startsWith("{base}") ? path.slice("{base}".length) : `/api/v1${path}`);
const keyOfRoute = (row: Route) => keyOf(row.method, fullPath(row));

const documented = new Map([...interfaceRows, ...additionalRows].map((row) => [keyOfRow(row), row]));
const everyone: readonly Scope[] = ["organization", "partner", "system"];

function needsOf({ access }: Route) {
  const session = access.auth === "session" ? access : null;
  return {
    auth: access.auth,
    permission: session?.permission ?? null,
    mfa: session?.mfa ?? false,
    scopes: [...(session?.scopes ?? everyone)].sort(),
    keyScopes: session?.keyScopes ?? null,
    portal: session?.portal ?? null,
  };
}

describe("the route table", () => {
  it.each(routes.map((row) => [`${row.method} ${fullPath(row)}`, row] as const))(
    "%s is listed in interface-rows with the same rights",
    (_name, row) => {
      const expected = documented.get(keyOfRoute(row));
      if (expected === undefined) throw new Error("no row in interface-rows");
      const { auth, permission, mfa, scopes, keyScopes, portal } = expected;
      expect(needsOf(row)).toEqual({ auth, permission, mfa, scopes: [...scopes].sort(), keyScopes, portal });
    },
  );

  it("has no route twice and a path for each route", () => {
    const find = buildRouteTable(routes);
    for (const row of routes) {
      const match = find(fullPath(row).replace(/:[A-Za-z]+/g, "x"));
      expect([...(match?.entry.byMethod.keys() ?? [])]).toContain(row.method);
    }
  });

  it("needs every scope that is offered for it, and no other", () => {
    const needed = routes.flatMap(({ access }) => (access.auth === "session" ? (access.keyScopes ?? []) : []));
    expect([...new Set(needed)].sort()).toEqual([...servedScopes].sort());
  });

  it("is closed to portal sessions but for the rows that name them, by capability", () => {
    const portal = (capabilities: readonly PortalCapability[]): PortalHolder => ({
      kind: "portal",
      id: exampleId,
      record: create(PortalRecordSchema, { partnerStatus: "active", orgStatus: "active" }),
      caller: callers.portal(exampleId, exampleId, capabilities),
      endsAtMs: Number.POSITIVE_INFINITY,
    });
    const rules = { mfaMaxAgeMs: 1, mfaEnrollUrl: "" };
    const openTo = (capabilities: readonly PortalCapability[]) =>
      routes.filter(({ access }) => {
        try {
          checkAccess(access, portal(capabilities), rules, Date.now);
          return access.auth !== "none";
        } catch (error) {
          expect(error).toMatchObject({ code: "not_found" });
          return false;
        }
      });
    const neededBy = (row: Route) => documented.get(keyOfRoute(row))?.portal;
    const shown = routes.filter((row) => neededBy(row) === "view");
    expect(openTo([])).toEqual(shown);
    for (const each of portalCapabilities) {
      expect(openTo([each])).toEqual(routes.filter((row) => shown.includes(row) || neededBy(row) === each));
    }
  });

  it("answers a browser that comes from elsewhere with a redirect, whatever is wrong", () => {
    const pages = routes.filter(({ status, refused }) => (status === 302 || status === 303) && refused === undefined);
    expect(pages.map(keyOfRoute).sort()).toEqual([
      // 404 with the error body where there is no provider, and no round trip that a redirect could end.
      "GET /api/v1/sso/login/:",
      "GET /api/v1/sso/login/partner/:",
    ]);
  });

  it("names the audit row of every change that an authenticated caller makes, and so of its refusal", () => {
    const without = routes.filter(({ method, access, audit }) => method !== "GET" && access.auth !== "none" && !audit);
    expect(without.map(keyOfRoute).sort()).toEqual(
      [
        // The second requests of these change something; the row is theirs.
        "POST /api/v1/auth/mfa/passkeys/authenticate/options",
        "POST /api/v1/auth/mfa/passkeys/register/options",
        // A look-up: its code stands in no address.
        "POST /api/v1/auth/device/lookup",
        // Records by themselves, thousands a second.
        "POST /api/v1/agents/:/heartbeat",
        "POST /api/v1/agents/:/logs",
        "POST /api/v1/agents/:/otlp/v1/logs",
        "POST /api/v1/events",
        // Counts, and changes nothing.
        "POST /api/v1/agent-versions/rollouts/preview",
        // Lists of SCIM, without parameters in the address.
        "POST /api/v1/scim/v2/.search",
        "POST /api/v1/scim/v2/Users/.search",
        "POST /api/v1/scim/v2/Groups/.search",
      ].sort(),
    );
  });

  it("accepts an Idempotency-Key on POST only, and of authenticated callers only: stored replies belong to a caller", () => {
    for (const row of routes.filter(({ idempotent }) => idempotent)) {
      expect(row.method).toBe("POST");
      expect(["session", "agent"]).toContain(row.access.auth);
    }
  });

  it("accepts an Idempotency-Key wherever an authenticated caller creates or rotates a secret or a record", () => {
    const makes = ({ method, path, status, access }: Route) =>
      method === "POST" &&
      access.auth !== "none" &&
      access.auth !== "directory" &&
      (status === 201 || path.includes("/rotate"));
    const without = routes.filter((row) => makes(row) && !row.idempotent).map(keyOfRoute);
    expect(without).toEqual([]);
  });

  it("returns a key as text, with its id and its prefix, wherever one is created or rotated; only a rotated API key has no warning", () => {
    const fieldsOf = ({ reply }: Route) => Object.keys((reply as { shape?: object }).shape ?? {});
    // The key of a role is the name of a seeded one.
    const showing = routes.filter(
      (row) => row.method === "POST" && row.path !== "/roles" && fieldsOf(row).includes("key"),
    );
    const paths = ["/api-keys", "/service-principals", "/enrollment-keys"].flatMap((path) => [
      path,
      `${path}/:id/rotate`,
    ]);
    expect(showing.map(({ path }) => path).sort()).toEqual(paths.sort());
    for (const row of showing) {
      expect([row.path, fieldsOf(row)]).toEqual([row.path, expect.arrayContaining(["key", "keyId", "keyPrefix"])]);
      expect([row.path, fieldsOf(row).includes("warning")]).toEqual([row.path, row.path !== "/api-keys/:id/rotate"]);
      const key = (row.reply as unknown as { shape: { key: { safeParse(value: unknown): { success: boolean } } } })
        .shape.key;
      expect([key.safeParse("svc_x").success, key.safeParse({ id: "x" }).success]).toEqual([true, false]);
    }
  });

  it("filters by text under the name search, except for the names of audit trails", () => {
    const names = (row: Route) => Object.keys(row.query?.shape ?? {});
    const others = ["q", "query", "text", "term", "filter", "name", "hostname", "email", "user"];
    const ours = routes.filter(({ dialect }) => dialect === undefined);
    const found = ours.flatMap((row) =>
      names(row)
        .filter((name) => others.includes(name))
        .map(() => row.path),
    );
    expect(found.filter((path) => !path.startsWith("/audit-logs"))).toEqual([]);
    const searched = routes.filter((row) => names(row).includes("search")).map(({ path }) => path);
    const lists = ["/users", "/orgs/partners", "/orgs/organizations", "/orgs/sites", "/devices", "/device-groups"];
    expect(searched).toEqual(expect.arrayContaining(lists));
  });

  it("describes each route, creates with 201, and keeps secrets out of caches", () => {
    for (const row of routes) {
      expect(row.summary).not.toBe("");
      expect(row.method === "GET" ? row.body : undefined).toBeUndefined();
      if (row.path.startsWith("/auth/")) expect(row.noStore).toBe(true);
    }
  });

  it("names each parameter of its path in its schema", () => {
    for (const row of routes) {
      const inPath = [...row.path.matchAll(/:([A-Za-z]+)/g)].map(([, name]) => name);
      expect(Object.keys(row.params?.shape ?? {})).toEqual(inPath);
      for (const name of row.slashes ?? []) expect(inPath).toContain(name);
    }
  });

  it("lists the rows of interface-rows that are not served yet", () => {
    const served = new Set(routes.map(keyOfRoute));
    const missing = interfaceRows.filter((row) => !served.has(keyOfRow(row)));
    const issues = [...new Set(missing.map(({ issue }) => issue))];
    const lines = issues.map((issue) => {
      const theirs = missing.filter((row) => row.issue === issue).map(({ method, path }) => `${method} ${path}`);
      return `  ${issue === null ? "issue to come" : `issue ${issue}`}: ${theirs.join(", ")}`;
    });
    process.stdout.write(
      `Served ${interfaceRows.length - missing.length} of ${interfaceRows.length} rows.\n${lines.join("\n")}\n`,
    );
    expect(new Set([...interfaceRows, ...additionalRows].map(keyOfRow)).size).toBe(
      interfaceRows.length + additionalRows.length,
    );
  });
});
