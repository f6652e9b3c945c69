import { type Agent, type Api, type Call, createAgent, type Stopping } from "@muster/agent";
import { parseVerifier } from "@muster/kit";
import type { Figures } from "./figures.ts";
import type { Identities, Identity } from "./identities.ts";
import { simMachine } from "./machine.ts";
import type { SimOptions } from "./options.ts";
import { someEvents, someLogs } from "./sample-posts.ts";
import { scenarioOf } from "./scenarios.ts";

export type AgentDeps = {
  api: Api;
  identities: Identities;
  figures: Figures;
  options: SimOptions;
  stopping: Stopping;
  random?: () => number;
};

export type SimAgent = Omit<Agent, "run" | "call"> & {
  identity: Identity;
  /** Ends when the agent does, or the process. */
  run(): Promise<void>;
};

const spreadMs = 60_000;

/** One simulated agent: the agent of `@muster/agent` on a simulated machine, which posts made-up logs and events. */
export function simAgent(
  { api, identities, figures, options, stopping, random = Math.random }: AgentDeps,
  identity: Identity,
  onReady: (identity: Identity) => void = () => {},
): SimAgent {
  const scenario = scenarioOf(identity.n, options);
  const host = simMachine({ identity, identities, options, figures, pause: stopping.pause, random });

  const post = async (call: Call, name: "logs" | "events", entries: unknown[]) => {
    const [method, path] = name === "logs" ? (["POST", "/logs"] as const) : (["PUT", "/eventlogs"] as const);
    const reply = await call(method, path, { [name]: entries });
    if (reply.status === 200 || reply.status === 201) figures.count(name, entries.length);
    else figures.count(`${name} ${reply.code || reply.status}`);
  };

  const agent = createAgent({
    api,
    host,
    stopping,
    random,
    count: figures.count,
    took: figures.took,
    jobs: [
      { seconds: options.logsSeconds, run: (call) => post(call, "logs", someLogs(identity, random)) },
      { seconds: options.eventsSeconds, run: (call) => post(call, "events", someEvents(random)) },
    ],
    settings: {
      intervalSeconds: options.intervalSeconds,
      startSpreadMs: options.count > 1 ? spreadMs : 0,
      rotateSeconds: options.rotateSeconds,
      updates: scenario === "off" ? "off" : scenario === "quiet" ? "quiet" : "reported",
      liftable: "ends",
      pinned: { number: options.releaseRoot, keys: options.releaseKeys.map(parseVerifier) },
    },
  });

  return {
    identity,
    get state() {
      return agent.state;
    },
    get reason() {
      return agent.reason;
    },
    get longestGapMs() {
      return agent.longestGapMs;
    },
    forgetGap: agent.forgetGap,
    run: () => agent.run(() => onReady(identity)),
  };
}
