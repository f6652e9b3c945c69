import { isUuid } from "@muster/kit";

/** How far an epoch may be ahead of the receiver's clock: more than clocks differ, less than locks a device out. */
export const epochAheadMs = 86_400_000;

/** `ignored` counts the entries that no gateway can have announced. */
export type EpochMessage = { gateway: string; epochs: [deviceId: string, epoch: number][]; ignored: number };

/**
 * Reads what a gateway announced: the epochs of its devices' channels. An epoch beyond the clock by more than a day is
 * ignored: epochs begin at a gateway's clock, and the device could not connect again until then. Throws when the bytes
 * are no such message.
 */
export function readEpochs(bytes: Uint8Array, nowMs: number): EpochMessage {
  const message: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
  if (typeof message !== "object" || message === null) throw new Error("not an object");
  const { gateway, epochs } = message as Record<string, unknown>;
  if (typeof gateway !== "string" || !Array.isArray(epochs)) throw new Error("gateway or epochs missing");
  const credible = epochs.filter((entry) => isCredible(entry, nowMs));
  return { gateway, epochs: credible, ignored: epochs.length - credible.length };
}

function isCredible(entry: unknown, nowMs: number): entry is [string, number] {
  if (!Array.isArray(entry)) return false;
  const [deviceId, epoch] = entry as unknown[];
  return (
    typeof deviceId === "string" && isUuid(deviceId) && Number.isSafeInteger(epoch) && isInTime(Number(epoch), nowMs)
  );
}

const isInTime = (epoch: number, nowMs: number) => epoch >= 0 && epoch <= nowMs + epochAheadMs;
