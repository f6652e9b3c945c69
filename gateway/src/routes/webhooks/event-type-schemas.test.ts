import { describe, expect, it } from "@jest/globals";
import { eventTypes } from "@muster/kit";
import { Ajv2020 } from "ajv/dist/2020.js";
import { eventTypeOf } from "./event-type-examples.ts";

const ajv = new Ajv2020({ strict: true, validateFormats: false });

describe("an event type of the catalogue", () => {
  it.each(eventTypes.map(eventTypeOf).map((each) => [each.type, each] as const))(
    "%s has a schema if the platform emits it, which its example meets with each of its fields",
    (_type, { source, schema, example }) => {
      expect(schema === null).toBe(source === "posted");
      if (schema === null) return;
      expect([ajv.validate(schema, example.data), ajv.errors]).toEqual([true, null]);
      expect(Object.keys((schema as { properties: object }).properties).sort()).toEqual(
        Object.keys(example.data).sort(),
      );
      expect(ajv.validate(schema, {})).toBe(false);
    },
  );
});
