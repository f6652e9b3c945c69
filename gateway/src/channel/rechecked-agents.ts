import type { AgentCache } from "../auth/agent-cache.ts";
import type { ChannelHub } from "./hub.ts";

/** An AgentCache that also rechecks the channels opened with the tokens that it marks as stale. */
export function recheckedAgents(agents: AgentCache, channels: Pick<ChannelHub, "recheck">): AgentCache {
  return {
    get: agents.get,
    changed(digests) {
      agents.changed(digests);
      channels.recheck(({ digest }) => digests.includes(digest));
    },
    forget(matches) {
      agents.forget(matches);
      channels.recheck(({ agent }) => matches(agent));
    },
    dropAll() {
      agents.dropAll();
      channels.recheck(() => true);
    },
    get size() {
      return agents.size;
    },
  };
}
