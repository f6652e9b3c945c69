import type { z } from "zod";
import type { Route } from "../route/route.ts";
import { type JsonSchema, jsonSchemaOf } from "./json-schema.ts";

type Components = Map<string, JsonSchema>;

const byFormat: Record<string, string> = {
  uuid: "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f",
  "date-time": "2026-01-31T12:00:00.000Z",
  date: "2026-01-31",
  email: "ada@example.com",
  uri: "https://example.com/",
  ipv4: "192.0.2.1",
};

/**
 * A valid body of a route, for the OpenAPI document and for the isolation matrix: the route's own example, else one
 * made from the schema with required fields, fields that have an example, and the organization. Undefined for a route
 * without a body.
 */
export function exampleOf(row: Pick<Route, "method" | "body" | "example">): unknown {
  if (row.example !== undefined || row.body === undefined) return row.example;
  const components: Components = new Map();
  const made = exampleFrom(jsonSchemaOf(row.body, "input", components), components);
  return row.method === "PATCH" && isEmpty(made) ? (firstOf(row.body, made) ?? made) : made;
}

/** An example of a parameter that must be sent, or whose schema has one. */
export function exampleOfParameter(schema: z.ZodType, required: boolean): unknown {
  const components: Components = new Map();
  const own = jsonSchemaOf(schema, "input", components);
  return required || "example" in own ? exampleFrom(own, components) : undefined;
}

/** Where nothing is required, the first property that has an example value: an empty change is refused. */
function firstOf(body: z.ZodType, made: unknown): unknown {
  const components: Components = new Map();
  const { properties = {} } = jsonSchemaOf(body, "input", components) as { properties?: Record<string, JsonSchema> };
  for (const [name, schema] of Object.entries(properties)) {
    if (name === "orgId") continue;
    const candidate = { ...(made as object), [name]: exampleFrom(schema, components) };
    if (body.safeParse(candidate).success) return candidate;
  }
  return undefined;
}

const isEmpty = (value: unknown) =>
  typeof value === "object" && value !== null && Object.keys(value).every((key) => key === "orgId");

function exampleFrom(schema: JsonSchema, components: Components): unknown {
  const existing = components.get(String(schema.$ref).replace("#/components/schemas/", ""));
  if (existing) return exampleFrom(existing, components);
  if (schema.example !== undefined) return schema.example;
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const forms = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (forms) return exampleFrom(forms.find(({ type }) => type !== "null") ?? {}, components);
  switch (schema.type) {
    case "string":
      return byFormat[String(schema.format)] ?? "text".padEnd(Number(schema.minLength ?? 0), "-");
    case "integer":
    case "number":
      return Number(schema.minimum ?? 1);
    case "boolean":
      return true;
    case "array":
      return Number(schema.minItems ?? 0) > 0 ? [exampleFrom(schema.items as JsonSchema, components)] : [];
    case "object":
      return objectOf(schema, components);
    default:
      return {};
  }
}

function objectOf(schema: JsonSchema, components: Components): Record<string, unknown> {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  const chosen = Object.entries(properties).filter(
    ([name, own]) => required.includes(name) || name === "orgId" || "example" in own,
  );
  return Object.fromEntries(chosen.map(([name, own]) => [name, exampleFrom(own, components)]));
}
