import { describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { loadConfig, whole } from "./config.ts";
import { coupled, orderErrors, sharedValues } from "./couplings.ts";

const schema = z.object({
  LEASE_MS: coupled(whole(45, 1, 600).describe("Lease."), { above: "TIMEOUT_MS" }),
  TIMEOUT_MS: whole(30, 1, 600),
  WINDOW: coupled(whole(4, 1, 256), { below: "SLOTS" }),
  SLOTS: whole(8, 2, 256),
  HEADERS_MS: coupled(whole(10, 1, 100), { atMost: "REQUEST_MS" }),
  REQUEST_MS: whole(30, 1, 100),
});

describe("settings that keep an order", () => {
  it("start with their defaults", () => {
    expect(loadConfig(schema, {})).toMatchObject({ LEASE_MS: 45, TIMEOUT_MS: 30 });
  });

  it.each([
    [{ LEASE_MS: "30" }, "LEASE_MS (30) must be above TIMEOUT_MS (30): raise LEASE_MS or lower TIMEOUT_MS"],
    [{ TIMEOUT_MS: "60" }, "LEASE_MS (45) must be above TIMEOUT_MS (60): raise LEASE_MS or lower TIMEOUT_MS"],
    [{ SLOTS: "4" }, "WINDOW (4) must be below SLOTS (4): raise SLOTS or lower WINDOW"],
    [{ HEADERS_MS: "31" }, "HEADERS_MS (31) must be at most REQUEST_MS (30): raise REQUEST_MS or lower HEADERS_MS"],
  ])("are refused as %j, with both names and the cure", (env, sentence) => {
    expect(() => loadConfig(schema, env)).toThrow(sentence);
  });

  it.each([{ LEASE_MS: "31" }, { SLOTS: "5" }, { HEADERS_MS: "30" }])("start with %j", (env) => {
    expect(() => loadConfig(schema, env)).not.toThrow();
  });

  it("are all named at once", () => {
    expect(orderErrors(schema.shape, { LEASE_MS: 1, TIMEOUT_MS: 2, WINDOW: 2, SLOTS: 2 })).toHaveLength(2);
  });

  it("are not compared where one is absent", () => {
    expect(orderErrors(schema.shape, { LEASE_MS: 1 })).toEqual([]);
  });
});

describe("settings that processes share", () => {
  it("are reported as text where they are set", () => {
    const shape = {
      SECONDS: coupled(whole(60, 1, 100), { shared: true }),
      URL: coupled(z.url().optional().describe("An address."), { shared: true }),
      OTHER: whole(1, 1, 2),
    };
    expect(sharedValues(shape, { SECONDS: 60, OTHER: 1 })).toEqual({ SECONDS: "60" });
    expect(sharedValues(shape, { SECONDS: 60, URL: "https://a" })).toEqual({ SECONDS: "60", URL: "https://a" });
  });
});
