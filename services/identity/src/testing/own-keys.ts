import { afterAll, beforeAll, beforeEach } from "@jest/globals";
import { startTestKeys, type TestKeys, tenantOf } from "./keys.ts";

/** RPCs for keys, shared by the tests of a file. Before each test the clock is set right and a new tenant is made. */
export function ownKeys(): { keys: TestKeys; tenant: Awaited<ReturnType<typeof tenantOf>> } {
  const keys = {} as TestKeys;
  const tenant = {} as Awaited<ReturnType<typeof tenantOf>>;
  beforeAll(async () => {
    Object.assign(keys, await startTestKeys());
  });
  afterAll(() => keys.close?.());
  beforeEach(async () => {
    keys.clock.now = new Date();
    Object.assign(tenant, await tenantOf(keys));
  });
  return { keys, tenant };
}
