import { describe, expect, it } from "@jest/globals";
import { reachable } from "./programs.ts";

describe("webhooks of a local cluster", () => {
  it("reach the port of `muster webhooks listen` and nothing else on this machine", () => {
    expect(reachable({})).toEqual({ EGRESS_TEST_EXCEPTIONS: "http://muster-listen.test:8499=127.0.0.1" });
  });

  it.each([
    [{ NODE_ENV: "production" }],
    [{ EGRESS_TEST_EXCEPTIONS: "" }],
    [{ EGRESS_TEST_EXCEPTIONS: "a.test:1=127.0.0.1" }],
  ])("reach what %j says, without that port", (env) => {
    expect(reachable(env)).toEqual({});
  });
});
