import { afterAll, beforeAll, beforeEach } from "@jest/globals";
import { startTestKeys, type TestKeys, tenantOf } from "./keys.ts";

/**
 * RPCs for keys that the tests of a file share, the clock set right before each, and a tenant that is a new one for
 * each.
 */
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
