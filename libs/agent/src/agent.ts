import { randomUUID } from "node:crypto";
import type { TrustedRoot } from "@muster/kit/agent";
import type { Api, ApiReply } from "./api.ts";
import { backoffWith } from "./backoff.ts";
import type { AfterUpdate, Host, UpdateReport } from "./host.ts";
import { type Offer, offerIn } from "./offer.ts";
import type { Stopping } from "./stopping.ts";
import { createUpdater } from "./updater.ts";
import { isSameVersion } from "./version.ts";

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

/** Share of the interval by which heartbeats are spread, so that agents that began together do not stay together. */
const jitter = 0.1;
const hourMs = 3_600_000;
const lost = ["agent_token_invalid", "agent_token_revoked", "agent_not_found"];
const liftable = ["organization_inactive", "partner_inactive", "limit_reached"];
const keyEndings = ["enrollment_key_invalid", "enrollment_key_expired", "enrollment_key_exhausted"];

/** What a reply may set: a broken one makes no agent busy, and none silent. */
const intervalBounds = { leastSeconds: 1, mostSeconds: 3_600 };

/** Milliseconds between heartbeats; null for no number of seconds. */
function intervalOf(seconds: unknown): number | null {
  if (typeof seconds !== "number" || !(seconds > 0)) return null;
  return Math.min(intervalBounds.mostSeconds, Math.max(intervalBounds.leastSeconds, seconds)) * 1000;
}

const isToken = (value: unknown): value is string => typeof value === "string" && value !== "";

/** Ids and token of a reply; null when one is missing, such as in a reply of a proxy. */
function enrollmentIn({ agentId, orgId, token }: Record<string, unknown>) {
  if (!isToken(agentId) || !isToken(orgId) || !isToken(token)) return null;
  return { agentId, orgId, token };
}

/**
 * One agent: enrolls unless it has a token, and then heartbeats, runs its jobs and takes updates, until it is stopped
 * or refused.
 */
export function createAgent(deps: AgentDeps): Agent {
  const { api, host, stopping, settings, jobs = [], random = Math.random } = deps;
  const { count = () => {}, took = () => {} } = deps;
  const { identity } = host;
  const backoffMs = backoffWith(random);
  const updater = createUpdater({ api, host, pinned: settings.pinned, pause: stopping.pause, backoffMs });
  let state: AgentState = "new";
  let reason = "";
  let intervalMs = (settings.intervalSeconds ?? identity.intervalSeconds ?? 60) * 1000;
  let receivedMs = Number.NaN;
  let longestGapMs = 0;
  /** Difference of the server's clock to the monotonic one, of the last reply. */
  let serverOffsetMs = Number.NEGATIVE_INFINITY;
  let newestOffer: Offer | null = null;
  let isInstalling = false;

  const end = (why: string) => {
    state = "ended";
    reason = why;
    count(`ended ${why}`);
  };
  const hasEnded = () => state === "ended";
  const obey = (seconds: unknown) => {
    if (settings.intervalSeconds === null) intervalMs = intervalOf(seconds) ?? intervalMs;
  };
  const serverMs = () => serverOffsetMs + performance.now();
  const learnTime = (text: unknown) => {
    const offset = Date.parse(String(text)) - performance.now();
    // It never goes back: what had expired stays so.
    if (offset > serverOffsetMs) serverOffsetMs = offset;
  };
  const backoff = (attempt: number, { retryAfterMs }: ApiReply) => backoffMs(attempt, retryAfterMs);
  const waits = (code: string) => liftable.includes(code) && settings.liftable === "waits";

  const enroll = async (): Promise<boolean> => {
    state = "enrolling";
    const { hostname, os, arch, hardwareId, serialNumber, versions } = identity;
    const { agent: agentVersion, watchdog: watchdogVersion } = versions;
    const machine = { hostname, os, arch, hardwareId, serialNumber, agentVersion, watchdogVersion };
    const labels = host.labels?.();
    for (let attempt = 0; !stopping.stopped; attempt++) {
      const wanted = { enrollmentKey: host.enrollmentKey(), ...machine, ...(labels ? { labels } : {}) };
      const reply = await api.call("POST", "/agents/enroll", wanted);
      const made = reply.status === 201 ? enrollmentIn(reply.body) : null;
      if (made) {
        Object.assign(identity, made);
        obey(reply.body.heartbeatIntervalSeconds);
        identity.intervalSeconds = intervalMs / 1000;
        host.save();
        count("enrolled");
        return true;
      }
      reason = reply.code || `status ${reply.status}`;
      count(`enrollment ${reply.code || reply.status}`);
      const isFinal = keyEndings.includes(reply.code) || (reply.status >= 400 && reply.status < 429);
      if (isFinal && !waits(reply.code) && reply.status !== 408) {
        end(reply.code);
        return false;
      }
      await stopping.pause(waits(reply.code) ? hourMs : backoff(attempt, reply));
    }
    return false;
  };

  const callWith = (token: string, ...[method, path, body, idempotencyKey]: Parameters<Call>) =>
    api.call(method, `/agents/${identity.agentId}${path}`, body, { token, idempotencyKey });

  /** With the newest token; when that is refused, with the one before, which a lost rotation may have left valid. */
  const call: Call = async (...wanted) => {
    const used = identity.token ?? "";
    const reply = await callWith(used, ...wanted);
    const { oldToken } = identity;
    if (oldToken === undefined || used !== identity.token) return reply;
    if (reply.status === 401 && lost.includes(reply.code)) {
      const again = await callWith(oldToken, ...wanted);
      if (again.status !== 401) keepToken(oldToken);
      return again;
    }
    if (reply.status >= 200 && reply.status < 300) keepToken(used);
    return reply;
  };

  const keepToken = (token: string) => {
    identity.token = token;
    delete identity.oldToken;
    host.save();
  };

  /**
   * The reply, once it was accepted; null ends the agent. Tries again in between: a heartbeat that is late is better
   * than none.
   */
  const heartbeat = async (update: UpdateReport | null): Promise<Record<string, unknown> | null> => {
    for (let attempt = 0; !stopping.stopped; attempt++) {
      const startedMs = performance.now();
      const { agent: agentVersion, watchdog: watchdogVersion, helper: helperVersion } = identity.versions;
      const said = { agentVersion, watchdogVersion, helperVersion, ...machineOf(identity) };
      const reply = await call("POST", "/heartbeat", { ...said, ...host.facts(), ...(update ? { update } : {}) });
      if (reply.status === 200) {
        const nowMs = performance.now();
        took(nowMs - startedMs);
        count("heartbeats");
        if (!Number.isNaN(receivedMs)) longestGapMs = Math.max(longestGapMs, nowMs - receivedMs);
        receivedMs = nowMs;
        state = reply.body.status === "quarantined" ? "quarantined" : "online";
        reason = "";
        obey(reply.body.heartbeatIntervalSeconds);
        learnTime(reply.body.serverTime);
        newestOffer = settings.updates === "off" ? null : offerIn(reply.body);
        host.accepted?.(reply.body, update);
        return reply.body;
      }
      if (stopping.stopped) return null;
      reason = reply.code || `status ${reply.status}`;
      count(`heartbeat ${reply.code || reply.status}`);
      state = "waiting";
      if (lost.includes(reply.code) || (liftable.includes(reply.code) && !waits(reply.code))) {
        end(reply.code);
        return null;
      }
      await stopping.pause(waits(reply.code) ? hourMs : backoff(attempt, reply));
    }
    return null;
  };

  const isOffered = ({ component, version, sha256 }: Offer) =>
    newestOffer?.component === component &&
    isSameVersion(newestOffer.version, version) &&
    newestOffer.sha256 === sha256;

  /** Prepares an offer and installs it, if it is still offered then. */
  const carryOut = async (offer: Offer): Promise<AfterUpdate> => {
    await stopping.pause(host.downloadDelayMs?.() ?? 0);
    const prepared = await updater.prepare(offer, serverMs());
    if ("failed" in prepared) {
      count(`updates ${prepared.failed.error}`);
      if (settings.updates === "quiet") return { heartbeat: "next time", report: null };
      return { heartbeat: "at once", report: prepared.failed };
    }
    // Withdrawn meanwhile: the file is kept, since the offer may be back with the next heartbeat.
    if (!isOffered(offer) || stopping.stopped) return { heartbeat: "next time", report: null };
    // Only the agent's own restart silences it.
    isInstalling = offer.component === "agent";
    return updater.install(offer, prepared);
  };

  /** Carries an update out; heartbeats continue meanwhile. */
  const update = async (offer: Offer): Promise<AfterUpdate> => {
    const { component, version } = offer;
    state = "updating";
    count("updates offered");
    let after: AfterUpdate | null = null;
    const work = carryOut(offer).then((done) => {
      after = done;
    });
    while (after === null) {
      await Promise.race([work, stopping.pause(intervalMs)]);
      if (stopping.stopped) return { heartbeat: "never" };
      if (after !== null || isInstalling) continue;
      const report = settings.updates === "quiet" ? null : { component, version, state: "downloading" };
      if ((await heartbeat(report)) === null) return { heartbeat: "never" };
      state = "updating";
    }
    isInstalling = false;
    return after;
  };

  const rotate = async (): Promise<void> => {
    const reply = await call("POST", "/rotate-token", {}, randomUUID());
    const { token } = reply.body;
    if (reply.status !== 200 || !isToken(token)) return count(`rotation ${reply.code || reply.status}`);
    // The old token stays valid until the new one is used, so both are stored until then.
    identity.oldToken = identity.token ?? "";
    identity.token = token;
    host.save();
    count("rotations");
  };

  const every = async ({ seconds, run }: Job): Promise<void> => {
    if (seconds === 0) return;
    await stopping.pause(random() * seconds * 1000);
    while (!stopping.stopped && state !== "ended" && state !== "silent") {
      if (state === "online") await run(call);
      await stopping.pause(seconds * 1000 * (1 - jitter + 2 * jitter * random()));
    }
  };

  /** Heartbeats until the end, the first one after `firstMs`, and takes the updates that replies offer. */
  const beat = async (first: Record<string, unknown>, firstMs: number): Promise<void> => {
    let body: Record<string, unknown> | null = first;
    let waitMs = firstMs;
    while (body !== null && !stopping.stopped) {
      const offer: Offer | null = newestOffer;
      let report: UpdateReport | null = null;
      if (offer) {
        const after = await update(offer);
        if (after.heartbeat === "never") {
          if (!stopping.stopped && !hasEnded()) state = "silent";
          return;
        }
        report = after.report;
        if (after.heartbeat === "at once") waitMs = 0;
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
    call,
    async run(onReady = () => {}) {
      const isNew = identity.token === null;
      if (isNew && host.enrollmentKey() === null) return end("no_enrollment_key");
      if (isNew && !(await enroll())) return;
      // Agents that come back together are spread; a new agent sends its first heartbeat at once.
      if (!isNew && settings.startSpreadMs > 0) {
        state = "waiting";
        await stopping.pause(random() * Math.min(intervalMs, settings.startSpreadMs));
      }
      if (stopping.stopped) return;
      const first = await heartbeat(deps.firstReport ?? null);
      if (first === null) return;
      onReady();
      const others = [...jobs, { seconds: settings.rotateSeconds, run: rotate }].map(every);
      await beat(first, intervalMs * random());
      // An agent that an update has silenced ends at once and sends nothing more.
      if (state !== "silent") await Promise.all(others);
    },
  };
}

const machineOf = ({ hostname, os, arch }: Host["identity"]) => ({ hostname, os, arch });
