import type { OnDeviceChanges } from "@muster/service";
import { announceAgent } from "../emits/agent-facts.ts";
import { type DeviceState, revokeAgentTokens, setAgentNames, setQuarantined } from "../store/agent-tokens.ts";

/**
 * Ends the tokens of decommissioned devices, and notifies the gateways of those that are quarantined and of those that
 * no longer are; keeps their hostnames.
 */
export const followDevices: OnDeviceChanges = async (tx, changes) => {
  const now = new Date();
  const gone = changes.filter(({ status }) => status === "decommissioned").map(({ id }) => id);
  if (gone.length > 0) {
    for (const row of await revokeAgentTokens(tx, gone, now)) announceAgent(tx, row);
  }
  const newest = new Map<string, DeviceState>();
  for (const { id, version, status, hostname } of changes) {
    const latest = newest.get(id);
    if (latest && latest.version >= Number(version)) continue;
    newest.set(id, { deviceId: id, version: Number(version), quarantined: status === "quarantined", hostname });
  }
  const states = [...newest.values()];
  for (const row of await setQuarantined(tx, states)) announceAgent(tx, row);
  await setAgentNames(tx, states);
};
