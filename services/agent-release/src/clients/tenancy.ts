import { createClient } from "@connectrpc/connect";
import { ownMeta, systemCaller } from "@muster/kit";
import type { DeviceFacts } from "@muster/proto/muster/common/v1/device_pb";
import { PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { callOptions, createSigner, createTransport } from "@muster/rpc";
import { service } from "../config.ts";
import type { Component } from "../rules/component.ts";
import type { Ring } from "../rules/ring.ts";

/** Notifies tenancy of the devices that update now; returns the ids of those that do. */
export type BeginUpdates = (
  updates: { deviceId: string; component: Component; version: string; timeoutSeconds: number }[],
) => Promise<Set<string>>;

/** Notifies tenancy of devices that update no more. */
export type EndUpdates = (deviceIds: readonly string[]) => Promise<void>;

/**
 * Devices, all or one partner's, by the version of their agent and the rings that they are in (by position, versions
 * not considered), and the ids that name nothing or what is another partner's.
 */
export type CountDevices = (
  rings: readonly Ring[],
  partnerId: string | null,
) => Promise<{
  groups: readonly { agentVersion: string; audiences: readonly number[]; devices: number }[];
  unknownIds: readonly string[];
}>;

export type Tenancy = {
  begin: BeginUpdates;
  end: EndUpdates;
  countDevices: CountDevices;
  /** A device as it is now, or null. */
  device(id: string): Promise<DeviceFacts | null>;
  close(): Promise<void>;
};

const timeoutMs = 2_000;
/** Counting reads all devices. */
const countTimeoutMs = 8_000;

/** Calls tenancy in the name of this service. Calls throw ConnectError. */
export function tenancyClient(options: { baseUrls: string[]; privateKeys: string }): Tenancy {
  const signer = createSigner({ issuer: service, privateKeys: options.privateKeys });
  const transport = createTransport({
    baseUrls: options.baseUrls,
    connections: 4,
    callers: { service: "tenancy", signer },
  });
  const presence = createClient(PresenceService, transport);
  const snapshot = createClient(SnapshotService, transport);
  const caller = systemCaller(service);
  const call = async (ms = timeoutMs) =>
    callOptions({
      caller,
      meta: ownMeta(),
      deadlineMs: performance.now() + ms,
    });
  return {
    async begin(updates) {
      const { deviceIds } = await presence.beginUpdates({ updates }, await call());
      return new Set(deviceIds);
    },
    async end(deviceIds) {
      await presence.endUpdates({ deviceIds: [...deviceIds] }, await call());
    },
    async countDevices(rings, partnerId) {
      const audiences = rings.map(({ partnerIds, orgIds, siteIds, groupIds, labels = {}, os = [], arch = [] }) => ({
        partnerIds: [...partnerIds],
        orgIds: [...orgIds],
        siteIds: [...siteIds],
        groupIds: [...groupIds],
        labels: { ...labels },
        os: [...os],
        arch: [...arch],
      }));
      return snapshot.countAudiences({ audiences, partnerId: partnerId ?? "" }, await call(countTimeoutMs));
    },
    async device(id) {
      const { facts } = await snapshot.getDevices({ ids: [id] }, await call());
      return facts[0] ?? null;
    },
    close: () => transport.close(),
  };
}
