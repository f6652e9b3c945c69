import { beforeAll, describe, expect, it } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { routes } from "../routes/index.ts";
import {
  clashesOf,
  examplesOf,
  fragments,
  limitedElsewhere,
  misnamedInputs,
  valuesInProse,
} from "../testing/document-lint.ts";
import { openApiDocument } from "./document.ts";

const document = openApiDocument(routes, { version: "1.2.3" });

describe("names in the OpenAPI document", () => {
  it("differ by more than case, punctuation and a leading New", () => {
    expect(clashesOf(document)).toEqual([]);
    const schemas = { AgentLog: {}, NewAgentLog: {}, Key: { properties: { logo_url: {}, logoUrl: {} } } };
    expect(clashesOf({ components: { schemas } })).toEqual([
      "components.schemas: AgentLog, NewAgentLog",
      "components.schemas.Key.properties: logo_url, logoUrl",
    ]);
  });

  it("end in Input where only requests use them", () => {
    expect(misnamedInputs(document)).toEqual([]);
    const content = { "application/json": { schema: { $ref: "#/components/schemas/Log" } } };
    const paths = { "/logs": { post: { requestBody: { content }, responses: {} } } };
    expect(misnamedInputs({ paths, components: { schemas: { Log: {}, LogInput: {} } } })).toEqual(["Log", "LogInput"]);
  });

  it("show one spelling of a field that is read under two", () => {
    const { properties = {} } = bodyOf("put", "/api/v1/partners/me/login-branding");
    expect(Object.keys(properties)).toEqual(["logo_url", "accent_color", "headline"]);
  });

  it("include the license", () => {
    expect(document.info).toMatchObject({ license: { name: "Apache-2.0", identifier: "Apache-2.0" } });
  });

  it("repeat for equal sets of error codes", () => {
    const names = Object.keys((document.components as { schemas: object }).schemas);
    const errors = names.filter((name) => name.endsWith("Error"));
    expect(errors).toContain("OrganizationNotFoundError");
    expect(errors.length).toBeLessThan(routes.length);
  });
});

describe("descriptions in the OpenAPI document", () => {
  it("are sentences, and leave defaults to the schema", () => {
    expect(fragments(document)).toEqual([]);
    const properties = { a: { description: "Exact." }, b: { description: "Type of it, default `x`." }, c: {} };
    const headers = { Location: { description: "URL of the file" } };
    expect(fragments({ schema: { properties }, reply: { headers } })).toHaveLength(3);
  });

  it("have one wording for filters of an exact value", () => {
    const found = Object.values(document.paths as Record<string, Record<string, Operation>>)
      .map(({ get }) => get?.parameters ?? [])
      .filter((parameters) => parameters.some(({ name }) => name === "limit"))
      .flatMap((parameters) => parameters.filter(({ name }) => filters.has(name)));
    expect(found.length).toBeGreaterThan(20);
    for (const { description } of found) expect(description).toMatch(/^Only records with exactly /);
  });
});

/** Filters of lists by a value. */
const filters = new Set([
  "status",
  "state",
  "kind",
  "level",
  "source",
  "os",
  "agentVersion",
  "reason",
  "result",
  "event",
]);

/** Ends of positions where a text has the name of a closed list elsewhere, and is open. */
const open: Readonly<Record<string, string>> = {
  "/diagnostic-logs ?component": "a part of the agent's program",
  "AgentLogInput.component": "a part of the agent's program",
  "AgentLog.component": "a part of the agent's program",
  "s ?source": "a program that writes to the device's log",
  "/follow ?source": "a program that writes to the device's log",
  "Event.source": "a program that writes to the device's log",
  "DeviceEventInput.source": "a program that writes to the device's log",
  "LiveEvent.category": "the device's own word",
  "/heartbeat body.status": "the agent's own word",
  "Device.reported.status": "the agent's own word",
  "headers.value": "a header's value",
  "AuditLog.category": "of the audit service, which may know more",
  "byCategory.category": "of the audit service, which may know more",
  "byAction.category": "of the audit service, which may know more",
  ".permissions": "of identity, which may know more",
  "Key.scopes": "of identity, which may know more",
  "Caller.scopes": "of identity, which may know more",
  "Principal.scopes": "of identity, which may know more",
  "api-keys 201.scopes": "of identity, which may know more",
  "/rotate 200.scopes": "of identity, which may know more",
  "service-principals 201.scopes": "of identity, which may know more",
  "/sso/providers body.scopes": "the identity provider's own list",
  "/sso/providers/{id} body.scopes": "the identity provider's own list",
  "/sso/presets 200.data.scopes": "the identity provider's own list",
  "SsoProvider.scopes": "the identity provider's own list",
  "/sso/callback ?state": "opaque",
  "/rollouts/{id}/devices ?reason": "the agent's own word, too",
  "SsoAttempt.step": "of identity, which may know more",
  "Error.reason": "a list for each code",
  "Error.status": "a list for each code",
  "Error.scopes": "what was refused",
  "WebhookDeadLetter.reason": "a sentence",
  "WebhookHealth.reason": "a sentence",
  ".health.reason": "a sentence",
  "/sync-{source} 200.skipped.reason": "a sentence",
  "Rollout.haltedParts.reason": "a sentence",
  "200.events": "of the dispatcher, which may know more",
  "200.event": "of the dispatcher, which may know more",
  "delivery.event": "of the dispatcher, which may know more",
  "Webhook.events": "of the dispatcher, which may know more",
  "WebhookReplay.events": "of the dispatcher, which may know more",
  "WebhookDeadLetter.event": "of the dispatcher, which may know more",
  "WebhookDelivery.event": "of the dispatcher, which may know more",
  "WebhookEvent.type": "of the dispatcher, which may know more",
  "EventType.type": "an organization's own type, too",
  "EventType.example.type": "an organization's own type, too",
  "/events/{id} 200.type": "of the dispatcher, which may know more",
  "AuditLog.resource.type": "of any service",
  "AuditLog.targets.type": "of any service",
  "AuditLog.action": "of any service",
  "AuditEntry.action": "of any service",
  "AuditEntry.resource": "the name of a record",
  "byAction.action": "of any service",
  "?action": "a part of an action",
  "?resource": "a part of a type or name",
  "exports body.action": "a part of an action",
  "exports body.resource": "a part of a type or name",
  "body.query.action": "a part of an action",
  "body.query.resource": "a part of a type or name",
  "claimedActor.type": "of the sender's own program",
};
const isOpen = (position: string) => Object.keys(open).some((end) => position.endsWith(end));

describe("closed lists in the OpenAPI document", () => {
  it("are enums wherever a field of that name is a text", () => {
    expect(limitedElsewhere(document).filter((position) => !isOpen(position))).toEqual([]);
  });

  it("are enums, not sentences", () => {
    expect(valuesInProse(document)).toEqual([]);
  });

  it("show the known event types and scopes to typed clients", () => {
    const items = (method: string, path: string, name: string) => bodyOf(method, path).properties?.[name]?.items;
    const { anyOf: events } = items("post", "/api/v1/webhooks", "events") ?? {};
    expect(events?.[0]?.enum).toEqual(expect.arrayContaining(["*", "device.offline"]));
    expect(items("post", "/api/v1/api-keys", "scopes")?.enum).toEqual(expect.arrayContaining(["*", "devices:read"]));
  });

  it("are joined by commas in the query", () => {
    const lists = parametersOf("get", "/api/v1/devices").filter(({ schema }) => schema.type === "array");
    expect(lists).toMatchObject([
      { name: "status", style: "form", explode: false, schema: { items: { enum: statuses } } },
    ]);
  });
});

const statuses = ["online", "offline", "updating", "decommissioned", "quarantined"];

describe("examples and defaults in the OpenAPI document", () => {
  let ajv: Ajv2020;
  beforeAll(() => {
    ajv = new Ajv2020({ strict: false, validateFormats: true, validateSchema: false });
    formats.default(ajv);
    ajv.addSchema({ ...document, $id: "document" });
  });

  const exampleErrors = (root: object) =>
    examplesOf(root).flatMap(({ position, value, schema }) => {
      // References begin at the document.
      const whole = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')) as object;
      return ajv.validate(whole, value) ? [] : [`${position}: ${ajv.errorsText(ajv.errors)}`];
    });

  it("fit their schemas", () => {
    expect(examplesOf(document).length).toBeGreaterThan(100);
    expect(exampleErrors(document)).toEqual([]);
  });

  it("are found wrong in a schema, a parameter and a body", () => {
    const schema = { type: "string", pattern: "^#", example: "red", default: "#" };
    const content = { "application/json": { schema: { properties: { n: { type: "integer" } } }, example: { n: "1" } } };
    expect(exampleErrors({ a: { schema }, b: { schema: { enum: ["x"] }, example: "y" }, c: { content } })).toEqual([
      expect.stringContaining("a.schema.example: "),
      expect.stringContaining("b.example: "),
      expect.stringContaining("c.content.application/json.example: "),
    ]);
  });
});

type Field = { type?: string; enum?: string[]; items?: Field; anyOf?: Field[]; properties?: Record<string, Field> };
type Operation = {
  parameters?: { name: string; description?: string; schema: Field }[];
  requestBody?: { content: Record<string, { schema: Field }> };
};

const operationOf = (method: string, path: string) =>
  (document.paths as Record<string, Record<string, Operation>>)[path]?.[method];
const bodyOf = (method: string, path: string): Field =>
  operationOf(method, path)?.requestBody?.content["application/json"]?.schema ?? {};
const parametersOf = (method: string, path: string) => operationOf(method, path)?.parameters ?? [];
