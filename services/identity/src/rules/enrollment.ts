import { createHmac } from "node:crypto";
import { validationError } from "@muster/kit";

export type AgentFields = {
  hostname: string;
  os: string;
  arch: string;
  /** Empty when the agent does not report it. */
  libc: string;
  agentVersion: string;
  watchdogVersion: string;
  hardwareId: string;
  serialNumber: string;
  labels: Record<string, string>;
};

/** How often one machine enrolls with one key before its repeats are not recognised any more. */
const idsOfOneMachine = 16;

/**
 * Device ids for the successive enrollments of one machine with one key: a repeat whose first reply was lost finds its
 * device. They cannot be derived without the key. None for an agent without a hardware id.
 */
export function deviceIdsOf(key: string, { hardwareId, serialNumber, hostname }: AgentFields): string[] {
  if (hardwareId === "") return [];
  return Array.from({ length: idsOfOneMachine }, (_, n) => {
    const machine = JSON.stringify(["device", n, hardwareId, serialNumber, hostname]);
    const bytes = createHmac("sha256", key).update(machine).digest().subarray(0, 16);
    // RFC 9562, version 8: bits of our own making.
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const hex = bytes.toString("hex");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  });
}

/** Whether a text can be an enrollment key at all: 64 hex characters. */
export const looksLikeEnrollmentKey = (text: string): boolean => /^[0-9a-f]{64}$/i.test(text);

/**
 * Throws `validation_failed` for fields that must not consume a use of a key; tenancy validates all fields completely.
 */
export function requireAgentFields({ hostname, os, arch, agentVersion }: AgentFields): void {
  const missing = Object.entries({ hostname, os, arch, agentVersion }).filter(([, value]) => value.trim() === "");
  if (missing.length > 0) throw validationError(Object.fromEntries(missing.map(([field]) => [field, ["Required"]])));
}
