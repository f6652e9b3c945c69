import { describe, expect, it } from "@jest/globals";
import { completeKeys, sealerNames } from "./keys.ts";
import { environmentOf, reachable, type Surroundings } from "./programs.ts";
import { serviceNames } from "./replicas.ts";

describe("the settings of a local cluster's services", () => {
  it("hold each sealer's own encryption key, and no other process's", () => {
    const keys = { ...completeKeys({}), callerPublicDir: "" };
    const around = {
      keys,
      instances: [],
      database: { app: {} },
      admin: {},
      certificates: null,
    } as unknown as Surroundings;
    const keyOf = (program: (typeof serviceNames)[number]) =>
      environmentOf({ program, name: program, port: 1, opsPort: 2 } as never, around).SECRET_ENCRYPTION_KEY;
    const found = Object.fromEntries(serviceNames.map((name) => [name, keyOf(name)] as const));
    expect(found).toEqual({
      ...Object.fromEntries(serviceNames.map((name) => [name, undefined])),
      ...Object.fromEntries(sealerNames.map((name) => [name, keys.secretEncryptionKeys[name]])),
    });
  });
});

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
