import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { HealthSchema } from "@muster/proto/muster/common/v1/health_pb";
import { z } from "zod";
import { openApiDocument } from "../../openapi/document.ts";
import { routes } from "../index.ts";
import { healthFields, healthOrNull, healthStatusOf } from "./health.ts";

const lists = ["/webhooks", "/webhooks/all", "/audit-logs/streams", "/sso/providers", "/directories"];
const document = JSON.stringify(openApiDocument(routes, { version: "1.2.3" }));
type Schema = { $ref?: string; items?: Schema; properties?: Record<string, Schema>; enum?: string[]; anyOf?: Schema[] };
type Document = {
  paths: Record<string, { get: { responses: { 200: { content: { "application/json": { schema: Schema } } } } } }>;
  components: { schemas: Record<string, Schema> };
};
const { paths, components } = JSON.parse(document) as Document;
/** A schema behind references, and without its null. */
function resolved(schema: Schema | undefined): Schema {
  const [first] = schema?.anyOf ?? [];
  if (first) return resolved(first);
  const name = schema?.$ref?.replace("#/components/schemas/", "");
  return name === undefined ? (schema ?? {}) : resolved(components.schemas[name]);
}

describe("the health of a record", () => {
  it.each(lists)("is the same field in the rows of %s and in one of them", (path) => {
    const replyOf = (each: string) =>
      resolved(paths[`/api/v1${each}`]?.get.responses[200].content["application/json"].schema);
    const record = replyOf(path === "/webhooks/all" ? "/webhooks/{id}" : `${path}/{id}`);
    for (const row of [resolved(replyOf(path).properties?.data?.items), record]) {
      const { status, reason } = resolved(row.properties?.health).properties ?? {};
      expect([resolved(status).enum, resolved(reason)]).toEqual([
        healthFields.status.options,
        expect.objectContaining({ type: "string" }),
      ]);
    }
  });

  it("is what the service reports", () => {
    const reported = create(HealthSchema, { status: "failing", reason: "Three requests in a row failed." });
    expect(healthStatusOf(reported)).toEqual({ status: "failing", reason: "Three requests in a row failed." });
  });

  it("says so where the older version of a service answers, which reports none", () => {
    const unknown = healthStatusOf(undefined);
    expect(z.object(healthFields).parse(unknown)).toEqual({
      status: "healthy",
      reason: expect.stringContaining("older version"),
    });
    expect(healthOrNull(undefined)).toBeNull();
  });
});
