import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { ownTenant } from "../support/own-tenant.ts";
import { newDirectory } from "../support/scim.ts";
import { roleId } from "../support/users.ts";
import { transcripts } from "./transcripts.ts";

const { cluster, tenant } = ownTenant();

describe("what a product sends from its first cycle on", () => {
  it.each(Object.entries(transcripts))("is served: %s", async (_product, steps) => {
    const defaultRoleId = await roleId(tenant.admin.api, "org-viewer");
    const { scim } = await newDirectory(cluster, tenant.admin.api, { defaultRoleId });
    const values: Record<string, string> = { random: randomUUID(), name: randomUUID(), external: randomUUID() };
    const filled = <T>(value: T): T =>
      JSON.parse(JSON.stringify(value).replace(/\{([a-z]+)\}/g, (whole, name: string) => values[name] ?? whole)) as T;
    for (const { what, send, expect: wanted, keep } of steps) {
      const [method, path, body] = filled(send);
      const reply = await scim(method, path, body);
      expect([what, reply.status, reply.body.detail]).toEqual([what, wanted.status, undefined]);
      if (wanted.body) expect({ what, ...reply.body }).toMatchObject({ what, ...filled(wanted.body) });
      if (keep) values[keep] = String(reply.body.id);
    }
  });
});
