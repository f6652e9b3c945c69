import { type Client, createClient } from "@connectrpc/connect";
import { ownMeta, systemCaller } from "@muster/kit";
import type { DeviceChanged } from "@muster/proto/muster/events/v1/tenancy_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { callOptions, createSigner, createTransport } from "@muster/rpc";

const queryTimeoutMs = 2_000;

/** Calls tenancy's SnapshotService in the name of this service. */
export function tenancyDevices(options: { baseUrls: string[]; privateKeys: string }): {
  query(ids: string[]): Promise<DeviceChanged[]>;
  close(): Promise<void>;
} {
  const signer = createSigner({ issuer: "device-logs", privateKeys: options.privateKeys });
  const transport = createTransport({
    baseUrls: options.baseUrls,
    connections: 2,
    callers: { service: "tenancy", signer },
  });
  const client: Client<typeof SnapshotService> = createClient(SnapshotService, transport);
  const caller = systemCaller("device-logs");
  return {
    async query(ids) {
      const call = callOptions({
        caller,
        meta: ownMeta(),
        deadlineMs: performance.now() + queryTimeoutMs,
      });
      return (await client.getDevices({ ids }, call)).devices;
    },
    close: () => transport.close(),
  };
}
