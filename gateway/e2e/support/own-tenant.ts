import { beforeAll } from "@jest/globals";
import type { Cluster } from "./cluster.ts";
import { sharedCluster } from "./shared-cluster.ts";
import { tenantWithAdmins } from "./tenant-with-admins.ts";

/** The shared cluster with a separate tenant for the tests of a file; `call` acts as its administrator. */
export function ownTenant() {
  const cluster = {} as Cluster;
  const tenant = {} as Awaited<ReturnType<typeof tenantWithAdmins>>;
  beforeAll(async () => {
    Object.assign(cluster, await sharedCluster());
    Object.assign(tenant, await tenantWithAdmins(cluster));
  }, 180_000);
  const call = (method: string, path: string, body?: unknown) => tenant.admin.api.call(method, path, body);
  return { cluster, tenant, call };
}
