import { type AgentState, createApi, createStopping } from "@muster/agent";
import { type SimAgent, simAgent } from "./agent.ts";
import { type Channel, openChannel } from "./channel.ts";
import { syntheticEventStore } from "./event-store.ts";
import { createFigures, type Figures } from "./figures.ts";
import { type Identity, openIdentities } from "./identities.ts";
import type { SimOptions } from "./options.ts";

export type Fleet = {
  agents: readonly SimAgent[];
  figures: Figures;
  /** Agents by their state, and open channels. */
  states(): Record<AgentState | "channels", number>;
  /** Ends when all agents have. */
  ended: Promise<void>;
  stop(): Promise<void>;
};

const tickMs = 20;

/** Runs agents in this process over one pool of connections until they are stopped. */
export function startFleet(options: SimOptions): Fleet {
  const { count, ramp, stateFile, hostname, os } = options;
  const { agentVersion: agent, watchdogVersion: watchdog, helperVersion: helper } = options;
  const versions = { agent, ...(watchdog === null ? {} : { watchdog }), ...(helper === null ? {} : { helper }) };
  const figures = createFigures();
  const identities = openIdentities(stateFile, count, { hostname, os, versions });
  const api = createApi({
    url: options.url,
    connections: options.connections,
    userAgent: `muster-agent/${options.agentVersion}`,
  });
  const stopping = createStopping();
  const channels = new Map<number, Channel>();

  const ready = (identity: Identity) => {
    if (!options.channel) return;
    const open = openChannel({
      baseUrl: () => options.url,
      agentId: identity.agentId ?? "",
      token: () => identity.token ?? "",
      store: syntheticEventStore({ os: identity.os, hostname: identity.hostname }),
      behave: options.misbehave,
      onState: (state) => figures.count(`channel ${state}`),
    });
    channels.set(identity.n, open);
  };
  const deps = { api, identities, figures, options, stopping };
  const agents = identities.all.map((identity) => simAgent(deps, identity, ready));

  const runs: Promise<void>[] = [];
  const run = async () => {
    // Those that enroll begin one after the other; those that are known spread themselves.
    const enrolled = agents.filter(({ identity }) => identity.token !== null);
    const fresh = agents.filter(({ identity }) => identity.token === null);
    const begin = (agent: SimAgent) => runs.push(agent.run().then(() => channels.get(agent.identity.n)?.stop()));
    enrolled.forEach(begin);
    const startedMs = performance.now();
    let started = 0;
    while (started < fresh.length && !stopping.stopped) {
      const due = Math.min(fresh.length, 1 + Math.floor(((performance.now() - startedMs) / 1000) * ramp));
      for (; started < due; started++) begin(fresh[started] as SimAgent);
      await stopping.pause(tickMs);
    }
    await Promise.all(runs);
  };
  const ended = run();

  return {
    agents,
    figures,
    ended,
    states() {
      const started = { new: 0, enrolling: 0, waiting: 0, online: 0, updating: 0, silent: 0 };
      const states = { ...started, quarantined: 0, ended: 0, channels: 0 };
      for (const { state } of agents) states[state]++;
      for (const { connected } of channels.values()) if (connected) states.channels++;
      return states;
    },
    async stop() {
      stopping.stop();
      for (const channel of channels.values()) channel.stop();
      await api.close();
      await ended;
    },
  };
}
