import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { operator } from "../support/users.ts";

let cluster: Cluster;
beforeAll(async () => {
  cluster = await sharedCluster();
}, 180_000);

describe("calls that wait inside a service", () => {
  it("do not delay the admission of other callers", async () => {
    const admin = await operator(cluster);
    const { body: roles } = await admin.call("GET", "/roles");
    const role = ((roles.data ?? []) as { id: string; key: string | null }[]).find((r) => r.key === "org-viewer");
    // Each waits until identity is sure that it does not know the organization.
    const waiting = Array.from({ length: 40 }, () =>
      admin.call("POST", "/users", {
        email: `${randomUUID()}@example.com`,
        name: "Nobody",
        orgId: randomUUID(),
        roleId: role?.id,
      }),
    );
    const { accessToken } = await signIn(cluster);
    const statuses: number[] = [];
    for (let i = 0; i < 10; i++) statuses.push((await api(cluster, accessToken).call("GET", "/auth/me")).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(new Set((await Promise.all(waiting)).map((reply) => reply.status))).toEqual(new Set([404]));
  });
});
