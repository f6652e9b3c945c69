import { createClient } from "@connectrpc/connect";
import { ownMeta, type RequestMeta, systemCaller } from "@muster/kit";
import { type Device, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callOptions, createSigner, createTransport, toAppError } from "@muster/rpc";
import type { AgentFields } from "../rules/enrollment.ts";

export type NewDevice = AgentFields & {
  id: string;
  orgId: string;
  siteId: string;
  enrollmentKeyId: string;
  reinstall: string;
};
export type CreatedDevice = { device: Device; heartbeatIntervalSeconds: number };

/** Tenancy's devices as enrollment needs them. Calls throw AppError. */
export type TenancyDevices = {
  /** Idempotent by id. */
  create(device: NewDevice, call: { meta: RequestMeta; deadlineMs: number | null }): Promise<CreatedDevice>;
  /** Deletes a device, or prevents its creation. */
  discard(id: string): Promise<void>;
  /** Devices no longer name a deleted enrollment key. */
  forgetKey(id: string): Promise<void>;
};

const discardTimeoutMs = 5_000;
const createTimeoutMs = 8_000;

/** Calls tenancy in identity's own name. */
export function tenancyDevices(options: {
  baseUrls: string[];
  privateKeys: string;
}): TenancyDevices & { close(): Promise<void> } {
  const signer = createSigner({ issuer: "identity", privateKeys: options.privateKeys });
  const transport = createTransport({ baseUrls: options.baseUrls, callers: { service: "tenancy", signer } });
  const client = createClient(DeviceService, transport);
  const caller = systemCaller("identity");
  const fail = (thrown: unknown): never => {
    throw toAppError(thrown);
  };
  return {
    async create(wanted, { meta, deadlineMs }) {
      const endMs = Math.min(deadlineMs ?? Number.POSITIVE_INFINITY, performance.now() + createTimeoutMs);
      const call = callOptions({ caller, meta, deadlineMs: endMs });
      const { device, heartbeatIntervalSeconds } = await client.createDevice(wanted, call).catch(fail);
      if (!device) throw new Error("tenancy answered without a device");
      return { device, heartbeatIntervalSeconds };
    },
    async discard(id) {
      const meta = ownMeta();
      const deadlineMs = performance.now() + discardTimeoutMs;
      const call = callOptions({ caller, meta, deadlineMs });
      await client.discardDevice({ id }, call).catch(fail);
    },
    async forgetKey(id) {
      const meta = ownMeta();
      const call = callOptions({ caller, meta, deadlineMs: performance.now() + createTimeoutMs });
      await client.forgetEnrollmentKey({ id }, call).catch(fail);
    },
    close: () => transport.close(),
  };
}
