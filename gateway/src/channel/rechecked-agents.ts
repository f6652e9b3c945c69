import type { AgentCache } from "../auth/agent-cache.ts";
import type { ChannelHub } from "./hub.ts";

/** An AgentCache that also rechecks the channels of the agents that it marks as stale. */
export function recheckedAgents(
  agents: AgentCache,
  channels: Pick<ChannelHub, "recheck" | "recheckAll" | "recheckDevice">,
): AgentCache {
  return {
    get: agents.get,
    changed(change) {
      agents.changed(change);
      channels.recheckDevice(change.deviceId);
    },
    forget(matches) {
      agents.forget(matches);
      channels.recheck(({ agent }) => matches(agent));
    },
    dropAll() {
      agents.dropAll();
      channels.recheckAll();
    },
    get size() {
      return agents.size;
    },
  };
}
