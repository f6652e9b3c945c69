import { createClient } from "@connectrpc/connect";
import { ownMeta, systemCaller } from "@muster/kit";
import type { TenantChanged } from "@muster/proto/muster/events/v1/tenancy_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { callOptions, createSigner, createTransport } from "@muster/rpc";

/** Tenancy's own state, as its SnapshotService returns it. */
export type TenancySnapshot = {
  /** A page from the cursor on; "" begins, and "" as the next one ends. The signal ends the call. */
  page(cursor: string, signal?: AbortSignal): Promise<{ tenants: TenantChanged[]; nextCursor: string }>;
  hash(signal?: AbortSignal): Promise<{ sha256: string }>;
  /** The tenants that exist under these ids, deleted partners and organizations included. */
  tenants(ids: readonly string[]): Promise<TenantChanged[]>;
};

const pageRows = 1_000;
const timeoutMs = 10_000;
/** A caller waits for these. */
const tenantsTimeoutMs = 2_000;

/** Asks tenancy in the name of `service`. Calls throw ConnectError. */
export function tenancySnapshot(options: {
  service: string;
  baseUrls: string[];
  privateKeys: string;
}): TenancySnapshot & { close(): Promise<void> } {
  const signer = createSigner({ issuer: options.service, privateKeys: options.privateKeys });
  const transport = createTransport({
    baseUrls: options.baseUrls,
    // The hash of a large tenancy takes long, and callers do not wait for it.
    connections: 4,
    callers: { service: "tenancy", signer },
  });
  const client = createClient(SnapshotService, transport);
  const caller = systemCaller(options.service);
  const call = (withinMs = timeoutMs, signal?: AbortSignal) =>
    callOptions({
      caller,
      meta: ownMeta(),
      deadlineMs: performance.now() + withinMs,
      ...(signal ? { signal } : {}),
    });
  return {
    async page(cursor, signal) {
      const { tenants, nextCursor } = await client.getSnapshot({ cursor, limit: pageRows }, call(timeoutMs, signal));
      return { tenants, nextCursor };
    },
    hash: (signal) => client.getSnapshotHash({}, call(timeoutMs, signal)),
    tenants: async (ids) => (await client.getTenants({ ids: [...ids] }, call(tenantsTimeoutMs))).tenants,
    close: () => transport.close(),
  };
}
