import { describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { type JsonSchema, jsonSchemaOf } from "./json-schema.ts";

const pet = z.object({ name: z.string() }).meta({ id: "TestPet" });

describe("the JSON Schema of a zod schema", () => {
  it("holds a component with its properties, never a component that refers to itself", () => {
    const components = new Map<string, JsonSchema>();
    expect(jsonSchemaOf(pet, "output", components)).toEqual({ $ref: "#/components/schemas/TestPet" });
    expect(components.get("TestPet")).toMatchObject({ type: "object", properties: { name: { type: "string" } } });
  });

  it("refers to a component from inside another schema", () => {
    const components = new Map<string, JsonSchema>();
    const list = jsonSchemaOf(z.object({ data: z.array(pet) }), "output", components);
    expect(list).toMatchObject({ properties: { data: { items: { $ref: "#/components/schemas/TestPet" } } } });
    expect([...components.keys()]).toEqual(["TestPet"]);
    expect(components.get("TestPet")).toHaveProperty("properties");
  });

  it("refuses one name for what is sent and for what is answered when the two differ", () => {
    const defaulted = z.object({ size: z.int().default(1) }).meta({ id: "TestDefaulted" });
    const components = new Map<string, JsonSchema>();
    jsonSchemaOf(defaulted, "output", components);
    expect(() => jsonSchemaOf(defaulted, "input", components)).toThrow("TestDefaulted");
  });
});
