import type { TrustedRoot } from "@muster/kit/agent";
import type { Api, ApiReply } from "./api.ts";
import type { Host, UpdateReport } from "./host.ts";
import type { Stopping } from "./stopping.ts";

/** A request in the agent's name. */
export type Call = (method: "POST" | "PUT", path: string, body: unknown, idempotencyKey?: string) => Promise<ApiReply>;

export type AgentSettings = {
  /** Heartbeat interval in seconds that replaces the server's; null for the server's. */
  intervalSeconds: number | null;
  /** Milliseconds over which the first heartbeat of an enrolled agent is spread. */
  startSpreadMs: number;
  rotateSeconds: number;
  /** Whether it understands offers, and whether it reports how they go. */
  updates: "reported" | "quiet" | "off";
  /** What a refusal does that an administrator can lift: `waits` tries again once an hour. */
  liftable: "ends" | "waits";
  /** Keys of release manifests that it was built with; without any it accepts unsigned releases. */
  pinned: TrustedRoot;
};

/** What else runs while the agent is online: every `seconds`, 0 for never. */
export type Job = { seconds: number; run(call: Call): Promise<void> };

export type AgentDeps = {
  api: Api;
  host: Host;
  stopping: Stopping;
  settings: AgentSettings;
  jobs?: readonly Job[];
  /** Report of an update that the process before did not finish. */
  firstReport?: UpdateReport | null;
  /** Called with the name of each thing that happened, such as `heartbeats`. */
  count?(name: string, by?: number): void;
  /** Milliseconds that a heartbeat took. */
  took?(ms: number): void;
  random?: () => number;
};

/** `online`: its last heartbeat was accepted. `silent`: an update ended it. `ended`: it was refused permanently. */
export type AgentState = "new" | "enrolling" | "waiting" | "online" | "updating" | "silent" | "quarantined" | "ended";

export type Agent = {
  readonly state: AgentState;
  /** Why it ended, or waits. */
  readonly reason: string;
  /** Longest time between two accepted heartbeats, milliseconds, since the start or `forgetGap`. */
  readonly longestGapMs: number;
  forgetGap(): void;
  call: Call;
  /** Ends when the agent does, or the process. `onReady` is called once, after the first accepted heartbeat. */
  run(onReady?: () => void): Promise<void>;
};
