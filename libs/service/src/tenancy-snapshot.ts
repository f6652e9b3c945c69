import { createClient } from "@connectrpc/connect";
import { systemCaller, uuidv7 } from "@muster/kit";
import type { TenantChanged } from "@muster/proto/muster/events/v1/tenancy_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { callOptions, createSigner, createTransport } from "@muster/rpc";

/** Tenancy's own state, as its SnapshotService gives it. */
export type TenancySnapshot = {
  /** A page from the cursor on; "" begins, and "" as the next one ends. */
  page(cursor: string): Promise<{ tenants: TenantChanged[]; nextCursor: string }>;
  hash(): Promise<{ sha256: string }>;
};

const pageRows = 1_000;
const timeoutMs = 10_000;

/** Asks tenancy in the name of `service`. Calls throw ConnectError. */
export function tenancySnapshot(options: {
  service: string;
  baseUrls: string[];
  privateKeys: string;
}): TenancySnapshot & { close(): Promise<void> } {
  const signer = createSigner({ issuer: options.service, privateKeys: options.privateKeys });
  const transport = createTransport({
    baseUrls: options.baseUrls,
    connections: 1,
    callers: { service: "tenancy", signer },
  });
  const client = createClient(SnapshotService, transport);
  const caller = systemCaller(options.service);
  const call = async () =>
    callOptions({
      caller,
      meta: { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null },
      deadlineMs: performance.now() + timeoutMs,
    });
  return {
    async page(cursor) {
      const { tenants, nextCursor } = await client.getSnapshot({ cursor, limit: pageRows }, await call());
      return { tenants, nextCursor };
    },
    hash: async () => client.getSnapshotHash({}, await call()),
    close: () => transport.close(),
  };
}
