import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { HealthSchema } from "@muster/proto/muster/common/v1/health_pb";
import { z } from "zod";
import { healthFields, healthOrNull, healthStatusOf } from "./health.ts";

describe("the health of a record", () => {
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
