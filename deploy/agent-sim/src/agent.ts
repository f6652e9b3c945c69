import type { Api, ApiReply } from "./api.ts";
import type { Figures } from "./figures.ts";
import type { Identities, Identity } from "./identities.ts";
import type { SimOptions } from "./options.ts";
import { someEvents, someLogs } from "./sample-posts.ts";
import { scenarioOf } from "./scenarios.ts";
import type { Stopping } from "./stopping.ts";
import { offerIn } from "./update-offer.ts";
import { type AfterUpdate, createUpdater, type UpdateReport } from "./updater.ts";

export type AgentDeps = {
  api: Api;
  identities: Identities;
  figures: Figures;
  options: SimOptions;
  stopping: Stopping;
  random?: () => number;
};

/** `online`: its last heartbeat was accepted. `silent`: an update ended it. `ended`: it was refused permanently. */
export type AgentState = "new" | "enrolling" | "waiting" | "online" | "updating" | "silent" | "quarantined" | "ended";

export type SimAgent = {
  identity: Identity;
  readonly state: AgentState;
  /** Why it ended. */
  readonly reason: string;
  /** Longest time between two heartbeats that were taken, milliseconds, since the start or `forgetGap`. */
  readonly longestGapMs: number;
  forgetGap(): void;
  /** Ends when the agent does, or the process. */
  run(): Promise<void>;
};

const backoffFirstMs = 1_000;
const backoffMaxMs = 60_000;
/** Share of the interval by which heartbeats are spread, so that agents that began together do not stay together. */
const jitter = 0.1;
const endings = [
  "agent_token_invalid",
  "agent_token_revoked",
  "agent_not_found",
  "organization_inactive",
  "partner_inactive",
];
const keyEndings = ["enrollment_key_invalid", "enrollment_key_expired", "enrollment_key_exhausted"];

/**
 * One agent: enrolls unless it has a token, and then heartbeats, and posts logs and events, until it is stopped or
 * refused.
 */
export function simAgent(
  deps: AgentDeps,
  identity: Identity,
  onReady: (identity: Identity) => void = () => {},
): SimAgent {
  const { api, identities, figures, options, stopping, random = Math.random } = deps;
  let state: AgentState = "new";
  let reason = "";
  let intervalMs = (options.intervalSeconds ?? identity.intervalSeconds ?? 60) * 1000;
  let receivedMs = Number.NaN;
  let longestGapMs = 0;

  const end = (why: string) => {
    state = "ended";
    reason = why;
    figures.count(`ended ${why}`);
  };
  const hasEnded = () => state === "ended";
  const obey = (seconds: unknown) => {
    if (options.intervalSeconds === null && typeof seconds === "number" && seconds > 0) intervalMs = seconds * 1000;
  };

  /** Full jitter, and never earlier than the server asks for. */
  const backoffMs = (attempt: number, retryAfterMs: number | null) =>
    (retryAfterMs ?? 0) + random() * Math.min(backoffMaxMs, backoffFirstMs * 2 ** attempt);
  const backoff = (attempt: number, { retryAfterMs }: ApiReply) => backoffMs(attempt, retryAfterMs);
  const updater = createUpdater({ api, identity, identities, options, stopping, figures, backoffMs });
  const scenario = scenarioOf(identity.n, options);
  const understandsUpdates = scenario !== "off";

  const enroll = async (): Promise<boolean> => {
    state = "enrolling";
    const { hostname, os, arch, hardwareId, serialNumber } = identity;
    const machine = { hostname, os, arch, hardwareId, serialNumber, agentVersion: identity.versions.agent };
    for (let attempt = 0; !stopping.stopped; attempt++) {
      const reply = await api.call("POST", "/agents/enroll", { enrollmentKey: options.enrollmentKey, ...machine });
      if (reply.status === 201) {
        identity.agentId = String(reply.body.agentId);
        identity.orgId = String(reply.body.orgId);
        identity.token = String(reply.body.token);
        obey(reply.body.heartbeatIntervalSeconds);
        identity.intervalSeconds = intervalMs / 1000;
        identities.save(identity);
        figures.count("enrolled");
        return true;
      }
      figures.count(`enrollment ${reply.code || reply.status}`);
      const isFinal = keyEndings.includes(reply.code) || (reply.status >= 400 && reply.status < 429);
      if (isFinal) {
        end(reply.code);
        return false;
      }
      await stopping.pause(backoff(attempt, reply));
    }
    return false;
  };

  const as = (method: "POST" | "PUT", path: string, body: unknown) =>
    api.call(method, `/agents/${identity.agentId}${path}`, body, identity.token ?? "");

  /**
   * The reply, once it was taken; null ends the agent. Tries again in between: a heartbeat that is late is better than
   * none.
   */
  const heartbeat = async (update: UpdateReport | null): Promise<Record<string, unknown> | null> => {
    for (let attempt = 0; !stopping.stopped; attempt++) {
      const startedMs = performance.now();
      const metrics = { "cpu.percent": Math.round(random() * 100), "memory.percent": Math.round(40 + random() * 40) };
      const { agent: agentVersion, watchdog: watchdogVersion, helper: helperVersion } = identity.versions;
      const says = {
        agentVersion,
        watchdogVersion,
        helperVersion,
        metrics,
        status: "ok",
        ...(update ? { update } : {}),
      };
      const reply = await as("POST", "/heartbeat", says);
      if (reply.status === 200) {
        const nowMs = performance.now();
        figures.took(nowMs - startedMs);
        figures.count("heartbeats");
        if (!Number.isNaN(receivedMs)) longestGapMs = Math.max(longestGapMs, nowMs - receivedMs);
        receivedMs = nowMs;
        state = reply.body.status === "quarantined" ? "quarantined" : "online";
        obey(reply.body.heartbeatIntervalSeconds);
        return reply.body;
      }
      if (stopping.stopped) return null;
      figures.count(`heartbeat ${reply.code || reply.status}`);
      state = "waiting";
      if (endings.includes(reply.code)) {
        end(reply.code);
        return null;
      }
      await stopping.pause(backoff(attempt, reply));
    }
    return null;
  };

  /** Carries an update out; heartbeats continue meanwhile. */
  const update = async (offer: NonNullable<ReturnType<typeof offerIn>>): Promise<AfterUpdate> => {
    const { component, version } = offer;
    state = "updating";
    let after: AfterUpdate | null = null;
    const work = updater.take(offer).then((taken) => {
      after = taken;
    });
    while (after === null) {
      await Promise.race([work, stopping.pause(intervalMs)]);
      if (stopping.stopped) return { nextHeartbeat: "never" };
      if (after !== null || updater.isRestarting) continue;
      const report = scenario === "quiet" ? null : { component, version, state: "downloading" };
      if ((await heartbeat(report)) === null) return { nextHeartbeat: "never" };
      state = "updating";
    }
    return after;
  };

  const rotate = async (): Promise<void> => {
    const reply = await as("POST", "/rotate-token", {});
    if (reply.status !== 200) return figures.count(`rotation ${reply.code || reply.status}`);
    // The old token stays valid until the new one is used, so the new one is stored first.
    identity.token = String(reply.body.token);
    identities.save(identity);
    figures.count("rotations");
  };

  const every = async (seconds: number, work: () => Promise<void>): Promise<void> => {
    if (seconds === 0) return;
    await stopping.pause(random() * seconds * 1000);
    while (!stopping.stopped && state !== "ended" && state !== "silent") {
      if (state === "online") await work();
      await stopping.pause(seconds * 1000 * (1 - jitter + 2 * jitter * random()));
    }
  };

  const post = async (name: "logs" | "events", method: "POST" | "PUT", path: string, entries: unknown[]) => {
    const reply = await as(method, path, { [name]: entries });
    if (reply.status === 200 || reply.status === 201) figures.count(name, entries.length);
    else figures.count(`${name} ${reply.code || reply.status}`);
  };

  /** Heartbeats until the end, the first one after `firstMs`, and takes the updates that replies offer. */
  const beat = async (first: Record<string, unknown>, firstMs: number): Promise<void> => {
    let body: Record<string, unknown> | null = first;
    let waitMs = firstMs;
    while (body !== null && !stopping.stopped) {
      const offer = understandsUpdates ? offerIn(body) : null;
      let report: UpdateReport | null = null;
      if (offer) {
        const after = await update(offer);
        if (after.nextHeartbeat === "never") {
          if (!stopping.stopped && !hasEnded()) state = "silent";
          return;
        }
        report = after.report;
        if (after.nextHeartbeat === "at once") waitMs = 0;
        if (after.revert) {
          body = await heartbeat(report);
          await after.revert();
          report = null;
          if (body === null) return;
        }
      }
      if (waitMs > 0) await stopping.pause(waitMs);
      if (stopping.stopped) return;
      body = await heartbeat(report);
      waitMs = intervalMs * (1 - jitter + 2 * jitter * random()) * (1 - jitter);
    }
  };

  return {
    identity,
    get state() {
      return state;
    },
    get reason() {
      return reason;
    },
    get longestGapMs() {
      return longestGapMs;
    },
    forgetGap() {
      longestGapMs = 0;
    },
    async run() {
      const isNew = identity.token === null;
      if (isNew && options.enrollmentKey === null) return end("no_enrollment_key");
      if (isNew && !(await enroll())) return;
      // Agents that come back together are spread over an interval; a new agent sends its first heartbeat at once.
      if (!isNew && options.count > 1) {
        state = "waiting";
        await stopping.pause(random() * Math.min(intervalMs, 60_000));
      }
      if (stopping.stopped) return;
      const first = await heartbeat(null);
      if (first === null) return;
      onReady(identity);
      const others = [
        every(options.logsSeconds, () => post("logs", "POST", "/logs", someLogs(identity, random))),
        every(options.eventsSeconds, () => post("events", "PUT", "/eventlogs", someEvents(random))),
        every(options.rotateSeconds, rotate),
      ];
      await beat(first, intervalMs * random());
      // An agent that an update has silenced ends at once and sends nothing more.
      if (state !== "silent") await Promise.all(others);
    },
  };
}
