import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { z } from "zod";
import type { Route } from "../route/route.ts";
import { nameIn } from "../routes/fields/schemas.ts";
import { routes } from "../routes/index.ts";
import { validate, validateQuery, withField } from "./validate.ts";
import { hasField, validateBody } from "./validate-body.ts";

const body = z.object({
  name: z.string().min(1).max(255),
  note: z.string().max(10).optional(),
  password: z.string().min(12).max(1_024).optional(),
  size: z.int().min(0).max(100).optional(),
  ids: z.array(z.guid("Must be a UUID")).min(1).max(3).optional(),
  kind: z.enum(["a", "b"]).nullish(),
  on: z.boolean().optional(),
  nested: z.object({ list: z.array(z.object({ text: z.string().max(5) })) }).optional(),
  when: z.iso.datetime().optional(),
  email: z.email().optional(),
});

function errorOf(run: () => unknown): AppError {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const fieldErrors = (error: AppError) => (error.facts.details as { fieldErrors: object }).fieldErrors;

describe("a field with a second spelling", () => {
  const row = {
    method: "PUT" as const,
    body: z.object({ logo_url: z.string().max(5).nullish(), headline: z.string().optional() }),
    query: undefined,
    aliases: { logoUrl: "logo_url" },
  };

  it.each([
    [{ logoUrl: "a" }, { logo_url: "a" }],
    [{ logo_url: "b", logoUrl: "a" }, { logo_url: "b" }],
    [{ logo_url: null, logoUrl: "a" }, { logo_url: "a" }],
    [{ logo_url: null }, { logo_url: null }],
    [{ headline: "h" }, { headline: "h" }],
  ])("is read from %j as %j", (body, read) => {
    expect(validateBody(row, body, {}, "partner")).toEqual(read);
  });

  it("is refused under its documented name", () => {
    expect(fieldErrors(errorOf(() => validateBody(row, { logoUrl: "too long" }, {}, "partner")))).toEqual({
      logo_url: ["At most 5 characters"],
    });
  });
});

describe("an organization in the query", () => {
  const orgId = "018f0000-0000-7000-8000-000000000001";
  const row = { method: "POST" as const, body: z.strictObject({ orgId: z.guid().optional(), name: z.string() }) };
  const checked = (body: unknown, of: Parameters<typeof validateBody>[0] = { ...row, query: undefined }) =>
    validateBody(of, body, { orgId }, "organization");

  it("is the body's, which may name the same", () => {
    expect(checked({ name: "n" })).toEqual({ name: "n", orgId });
    expect(checked({ name: "n", orgId: orgId.toUpperCase() })).toEqual({ name: "n", orgId });
    expect(fieldErrors(errorOf(() => checked({ name: "n", orgId: orgId.replace("1", "2") })))).toEqual({
      orgId: ["Differs from orgId of the query"],
    });
  });

  it.each([null, "x", 1, true])("changes nothing of %j, which is no body", (body) => {
    expect(errorOf(() => checked(body)).code).toBe("validation_failed");
  });

  it("is not the body's where a route has it in the query alone", () => {
    const named = { method: "POST" as const, body: z.strictObject({ name: z.string() }), query: undefined };
    expect(checked({ name: "n" }, named)).toEqual({ name: "n" });
    const both = { ...row, query: z.object({ orgId: z.guid() }) };
    expect(checked({ name: "n" }, both)).toEqual({ name: "n" });
  });
});

describe("a body with errors", () => {
  it("is answered with all of them, each in this API's own terms", () => {
    const input = {
      note: "far too long a note",
      password: "short",
      size: 101,
      ids: ["x", 1],
      kind: "c",
      on: "yes",
      nested: { list: [{ text: "ok" }, { text: "too long" }, {}] },
      when: "yesterday",
      email: "nobody",
    };
    const error = errorOf(() => validate(body, input));
    expect(error.code).toBe("validation_failed");
    expect(fieldErrors(error)).toEqual({
      name: ["Required"],
      note: ["At most 10 characters"],
      password: ["12 to 1024 characters"],
      size: ["A number from 0 to 100"],
      "ids.0": ["Must be a UUID"],
      "ids.1": ["Must be a UUID"],
      kind: ["One of a, b"],
      on: ["Must be true or false"],
      "nested.list.1.text": ["At most 5 characters"],
      "nested.list.2.text": ["Required"],
      when: ["Must be an ISO 8601 time"],
      email: ["Must be an e-mail address"],
    });
  });

  it.each<[unknown, object]>([
    [{ name: "" }, { name: ["1 to 255 characters"] }],
    [{ name: "x".repeat(256) }, { name: ["1 to 255 characters"] }],
    [{ name: "n", ids: [] }, { ids: ["1 to 3 items"] }],
    [
      { name: 1, size: 1.5 },
      { name: ["Must be text"], size: ["Must be a whole number"] },
    ],
  ])("%j is answered with %j", (input, expected) => {
    expect(fieldErrors(errorOf(() => validate(body, input)))).toEqual(expected);
  });

  it("has one text for an empty name", () => {
    expect(fieldErrors(errorOf(() => validate(z.object({ name: nameIn }), { name: "" })))).toEqual({
      name: ["1 to 255 characters"],
    });
  });

  it("never reveals a text of the validation library, whatever is sent to any route", () => {
    const strange: unknown[] = [null, 1, "x", [], {}, { a: 1 }, true];
    for (const row of routes.filter((each) => each.body && "shape" in each.body)) {
      const names = Object.keys((row.body as unknown as { shape: object }).shape);
      for (const value of strange) {
        const parsed = row.body?.safeParse(Object.fromEntries(names.map((name) => [name, value])));
        if (parsed?.success) continue;
        const schema = row.body as z.ZodType;
        const error = errorOf(() => validate(schema, Object.fromEntries(names.map((name) => [name, value]))));
        const texts = Object.values(fieldErrors(error)).flat().join("\n");
        expect(texts).not.toMatch(/Invalid(?! webhook URL)|expected|received|Too (small|big)|\0|undefined|NaN/);
      }
    }
  });
});

describe("a code that concerns one field", () => {
  const keys = routes.find(({ method, path }) => method === "POST" && path === "/api-keys") as (typeof routes)[number];

  it("unknown_scope lists scopes; with another error both are reported", () => {
    const orgId = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";
    const alone = errorOf(() => validateBody(keys, { orgId, name: "n", scopes: ["x:y"] }, {}, "system"));
    expect([alone.code, alone.facts.scopes]).toEqual(["unknown_scope", ["x:y"]]);
    expect(fieldErrors(alone)).toEqual({ scopes: ["Unknown: x:y"] });
    const both = errorOf(() => validateBody(keys, { orgId, scopes: ["x:y"] }, {}, "system"));
    expect(both.code).toBe("validation_failed");
    expect(fieldErrors(both)).toEqual({ name: ["Required"], scopes: ["Unknown: x:y"] });
  });

  it.each([
    ["POST", "/events", "unknown_event_type", "type"],
    ["POST", "/webhooks/:id/test", "unknown_event_type", "event"],
    ["POST", "/webhooks", "invalid_webhook_url", "url"],
    ["POST", "/device-groups", "organization_context_required", "orgId"],
    ["GET", "/webhooks", "organization_context_required", "orgId"],
  ] as const)("%s %s: %s of the service names %s", (method, path, code, field) => {
    const row = routes.find((each) => each.method === method && each.path === path) as (typeof routes)[number];
    expect(Object.keys(fieldErrors(withField(new AppError(code, "Text"), row)))).toEqual([field]);
  });
});

describe("a query parameter that its route does not know", () => {
  // Directories ignore what they do not know, as SCIM demands.
  const named = routes
    .filter(({ dialect }) => dialect === undefined)
    .map((row) => [`${row.method} ${row.path}`, row] as const);
  const withCaller = named.filter(([, { access }]) => access.auth !== "none");
  const withoutCaller = named.filter(([, { access }]) => access.auth === "none");

  it.each(withCaller)("is refused by name, as many as there are: %s", (_name, row) => {
    const error = errorOf(() => validateQuery(row, { eventIds: "1", ipAddresses: "2", constructor: "3" }));
    const isMissing = row.query?.safeParse({}).success === false;
    const unknown = ["eventIds", "ipAddresses", "constructor"].filter(
      (name) => !Object.hasOwn(row.query?.shape ?? {}, name),
    );
    expect(error.code).toBe(isMissing ? "validation_failed" : "unknown_parameter");
    for (const name of unknown) expect(Object.hasOwn(fieldErrors(error), name)).toBe(true);
    if (!isMissing) expect(error.facts.parameters).toEqual(unknown);
  });

  it.each(withoutCaller)("is ignored, since browsers and foreign programs send their own: %s", (_name, row) => {
    // Of Keycloak, Google and Entra ID.
    const theirs = { session_state: "a", authuser: "0", hd: "acme.example", prompt: "consent", client_info: "b" };
    expect(validateQuery(row, theirs)).toEqual(row.query?.parse({}) ?? {});
  });

  it("is reported with the known ones, and beside the other errors of the query", () => {
    const list = routes.find(({ method, path }) => method === "GET" && path === "/api-keys") as (typeof routes)[number];
    const error = errorOf(() => validateQuery(list, { state: "active", orgId: "x" }));
    expect(fieldErrors(error)).toEqual({
      orgId: ["Must be a UUID"],
      state: ["Unknown parameter; known: cursor, expiresBefore, limit, orgId, page, search, skipCount, status"],
    });
  });

  it("is none of those of every list; a device that is queried live has pages, but no cursors", () => {
    const lists = routes.filter(({ reply }) => Object.hasOwn(shapeOf(shapeOf(reply).pagination), "nextCursor"));
    const takes = (row: Route, name: string) => Object.hasOwn(row.query?.shape ?? {}, name);
    expect(lists.filter((row) => !takes(row, "page") || !takes(row, "limit"))).toEqual([]);
    const withoutCursor = lists.filter((row) => !takes(row, "cursor") || !takes(row, "skipCount"));
    const live = routes.filter(({ path }) => path.endsWith("/eventlogs/:name/events"));
    expect(withoutCursor.map(({ path }) => path)).toEqual(live.map(({ path }) => path));
  });
});

const shapeOf = (schema: unknown): Record<string, unknown> =>
  (schema as { shape?: Record<string, unknown> } | undefined)?.shape ?? {};

describe("a PATCH without a known field", () => {
  const patches = routes
    .filter(({ method, dialect }) => method === "PATCH" && !dialect)
    .map((row) => [row.path, row] as const);
  it.each(patches)("is no_updates before anything is looked up, also where a field is required: %s", (_path, row) => {
    const orgId = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";
    for (const body of [{}, { unknown: 1 }, { orgId: "x", constructor: 1 }]) {
      expect(errorOf(() => validateBody(row, body, { orgId }, "system")).code).toBe("no_updates");
    }
    const [name = ""] = Object.keys(shapeOf(row.body)).filter((each) => each !== "orgId");
    const outcome = () => validateBody(row, { [name]: Symbol("of no type") }, { orgId }, "system");
    expect([name, errorOf(outcome).code]).toEqual([name, expect.not.stringMatching("no_updates")]);
  });
});

describe("null in a body", () => {
  const clearing = ["address", "contact", "billingContact", "ssoConfig", "headers"];
  const holding = (names: readonly string[]) =>
    routes.flatMap((row) =>
      ["POST", "PUT", "PATCH"].includes(row.method)
        ? names.filter((name) => hasField(row, name)).map((name) => [`${row.method} ${row.path}`, name, row] as const)
        : [],
    );
  const nullOf = (row: Route, name: string) => {
    try {
      validateBody(row, { [name]: null }, {}, "organization");
    } catch (error) {
      return (fieldErrors(error as AppError) as Record<string, string[]>)[name] ?? null;
    }
    return null;
  };

  it.each(holding(clearing))("clears: %s %s", (_row, name, row) => expect(nullOf(row, name)).toBeNull());

  it.each(holding(["settings"]))("is no object: %s %s", (_row, name, row) =>
    expect(nullOf(row, name)).toEqual(["Must be an object"]),
  );
});

describe("a field that is missing", () => {
  const rows = routes
    .filter(({ body }) => body !== undefined)
    .map((row) => [`${row.method} ${row.path}`, row] as const);
  it.each(rows.filter(([, { method }]) => method !== "PATCH"))(
    "is Required, and named with all others: %s",
    (_name, row) => {
      const shape = Object.entries(shapeOf(row.body)) as [string, z.ZodType][];
      const missing = shape.filter(([, field]) => !field.safeParse(undefined).success).map(([name]) => name);
      for (const scope of ["organization", "partner", "system"] as const) {
        const demanded =
          scope !== "organization" && row.errors?.includes("organization_context_required") ? ["orgId"] : [];
        const all = [...new Set([...missing, ...demanded.filter((name) => shape.some(([field]) => field === name))])];
        const partner = scope === "system" && row.path === "/orgs/organizations" ? ["partnerId"] : [];
        if (all.length + partner.length === 0) continue;
        const reported = fieldErrors(errorOf(() => validateBody(row, {}, {}, scope)));
        expect(reported).toMatchObject(Object.fromEntries([...all, ...partner].map((name) => [name, ["Required"]])));
      }
    },
  );

  it("has the code of its tenant only when nothing else is wrong", () => {
    const row = routes.find(({ method, path }) => method === "POST" && path === "/webhooks") as Route;
    const whole = { name: "n", url: "https://example.com/hook", events: ["*"] };
    const alone = errorOf(() => validateBody(row, whole, {}, "partner"));
    expect([alone.code, fieldErrors(alone)]).toEqual(["organization_context_required", { orgId: ["Required"] }]);
    const both = errorOf(() => validateBody(row, { ...whole, name: "" }, {}, "partner"));
    expect([both.code, Object.keys(fieldErrors(both)).sort()]).toEqual(["validation_failed", ["name", "orgId"]]);
    expect(validateBody(row, whole, {}, "organization")).toMatchObject({ name: "n" });
    const provider = routes.find(({ method, path }) => method === "POST" && path === "/sso/providers") as Route;
    const own = { ownerScope: "partner", name: "n", type: "oidc" };
    expect(validateBody(provider, own, {}, "partner")).toMatchObject({ ownerScope: "partner" });
    expect(errorOf(() => validateBody(provider, own, {}, "system")).code).toBe("partner_id_required");
  });
});

describe("orgId in the query of a route that accepts it in the body", () => {
  const row = routes.find(
    ({ method, path }) => method === "POST" && path === "/device-groups",
  ) as (typeof routes)[number];
  const [a, b] = ["018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f", "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e60"];

  it("is reported with the other errors when it differs", () => {
    const error = errorOf(() => validateBody(row, { name: "", orgId: a }, { orgId: b }, "system"));
    expect(fieldErrors(error)).toEqual({ orgId: ["Differs from orgId of the query"], name: ["1 to 255 characters"] });
  });

  it("replaces the body's, and must not differ from it", () => {
    expect(validateBody(row, { name: "n" }, { orgId: a }, "system")).toMatchObject({ orgId: a });
    expect(validateBody(row, { name: "n", orgId: a }, { orgId: a.toUpperCase() }, "system")).toMatchObject({
      orgId: a,
    });
    expect(
      fieldErrors(errorOf(() => validateBody(row, { name: "n", orgId: a }, { orgId: b }, "system"))),
    ).toHaveProperty("orgId");
    expect(fieldErrors(errorOf(() => validateBody(row, { name: "n" }, { orgId: [a, b] }, "system")))).toHaveProperty(
      "orgId",
    );
  });
});
