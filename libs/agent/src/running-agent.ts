import type { Agent, AgentDeps, AgentSettings, AgentState, Call, Job } from "./agent.ts";
import { AgentToken, isToken, lost } from "./agent-token.ts";
import type { ApiReply } from "./api.ts";
import { backoffWith } from "./backoff.ts";
import type { AfterUpdate, Host, UpdateReport } from "./host.ts";
import { type Offer, offerIn } from "./offer.ts";
import type { Stopping } from "./stopping.ts";
import { createUpdater } from "./updater.ts";
import { isSameVersion } from "./version.ts";

/** Share of the interval by which heartbeats are spread, so that agents that began together do not stay together. */
const jitter = 0.1;
const hourMs = 3_600_000;
const liftable = ["organization_inactive", "partner_inactive", "limit_reached"];
const keyEndings = ["enrollment_key_invalid", "enrollment_key_expired", "enrollment_key_exhausted"];

/** What a reply may set: a broken one makes no agent busy, and none silent. */
const intervalBounds = { leastSeconds: 1, mostSeconds: 3_600 };

/** Milliseconds between heartbeats; null for no number of seconds. */
function intervalOf(seconds: unknown): number | null {
  if (typeof seconds !== "number" || !(seconds > 0)) return null;
  return Math.min(intervalBounds.mostSeconds, Math.max(intervalBounds.leastSeconds, seconds)) * 1000;
}

/** Ids and token of a reply; null when one is missing, such as in a reply of a proxy. */
function enrollmentIn({ agentId, orgId, token }: ApiReply["body"]) {
  if (!isToken(agentId) || !isToken(orgId) || !isToken(token)) return null;
  return { agentId, orgId, token };
}

const machineOf = ({ hostname, os, arch, libc }: Host["identity"]) => ({
  hostname,
  os,
  arch,
  ...(libc ? { libc } : {}),
});

/**
 * One agent: enrolls unless it has a token, and then heartbeats, runs its jobs and takes updates, until it is stopped
 * or refused.
 */
export const createAgent = (deps: AgentDeps): Agent => new RunningAgent(deps);

class RunningAgent implements Agent {
  state: AgentState = "new";
  reason = "";
  longestGapMs = 0;
  readonly call: Call;
  readonly #deps: AgentDeps;
  readonly #host: Host;
  readonly #stopping: Stopping;
  readonly #settings: AgentSettings;
  readonly #token: AgentToken;
  readonly #updater: ReturnType<typeof createUpdater>;
  readonly #random: () => number;
  readonly #backoffMs: ReturnType<typeof backoffWith>;
  #intervalMs: number;
  #receivedMs = Number.NaN;
  /** Difference of the server's clock to the monotonic one, of the last reply. */
  #serverOffsetMs = Number.NEGATIVE_INFINITY;
  #newestOffer: Offer | null = null;
  #isInstalling = false;

  constructor(deps: AgentDeps) {
    const { api, host, stopping, settings, random = Math.random } = deps;
    this.#deps = deps;
    this.#host = host;
    this.#stopping = stopping;
    this.#settings = settings;
    this.#random = random;
    this.#backoffMs = backoffWith(random);
    this.#token = new AgentToken(api, host, (name) => this.#count(name));
    this.call = this.#token.call;
    const { pause } = stopping;
    this.#updater = createUpdater({ api, host, pinned: settings.pinned, pause, backoffMs: this.#backoffMs });
    this.#intervalMs = (settings.intervalSeconds ?? host.identity.intervalSeconds ?? 60) * 1000;
  }

  forgetGap(): void {
    this.longestGapMs = 0;
  }

  async run(onReady = () => {}): Promise<void> {
    const { jobs = [], firstReport = null } = this.#deps;
    const isNew = this.#host.identity.token === null;
    if (isNew && this.#host.enrollmentKey() === null) return this.#end("no_enrollment_key");
    if (isNew && !(await this.#enroll())) return;
    // Agents that come back together are spread; a new agent sends its first heartbeat at once.
    if (!isNew && this.#settings.startSpreadMs > 0) {
      this.state = "waiting";
      await this.#stopping.pause(this.#random() * Math.min(this.#intervalMs, this.#settings.startSpreadMs));
    }
    if (this.#stopping.stopped) return;
    const first = await this.#heartbeat(firstReport);
    if (first === null) return;
    onReady();
    const rotation = { seconds: this.#settings.rotateSeconds, run: this.#token.rotate };
    const others = [...jobs, rotation].map((job) => this.#every(job));
    await this.#beat(first, this.#intervalMs * this.#random());
    // An agent that an update has silenced ends at once and sends nothing more.
    if (!this.#is("silent")) await Promise.all(others);
  }

  #count(name: string): void {
    this.#deps.count?.(name);
  }

  /** The state as it is now, which every pause may change. */
  #is(state: AgentState): boolean {
    return this.state === state;
  }

  #end(why: string): void {
    this.state = "ended";
    this.reason = why;
    this.#count(`ended ${why}`);
  }

  #obey(seconds: unknown): void {
    if (this.#settings.intervalSeconds === null) this.#intervalMs = intervalOf(seconds) ?? this.#intervalMs;
  }

  #serverMs(): number {
    return this.#serverOffsetMs + performance.now();
  }

  #learnTime(text: unknown): void {
    const offset = Date.parse(String(text)) - performance.now();
    // It never goes back: what had expired stays so.
    if (offset > this.#serverOffsetMs) this.#serverOffsetMs = offset;
  }

  #waits(code: string): boolean {
    return liftable.includes(code) && this.#settings.liftable === "waits";
  }

  /** After a refusal: an hour where an administrator can lift it, else longer with each attempt. */
  #pauseAfter({ code, retryAfterMs }: ApiReply, attempt: number): Promise<void> {
    return this.#stopping.pause(this.#waits(code) ? hourMs : this.#backoffMs(attempt, retryAfterMs));
  }

  async #enroll(): Promise<boolean> {
    this.state = "enrolling";
    const { identity } = this.#host;
    const { hardwareId, serialNumber, versions } = identity;
    const { agent: agentVersion, watchdog: watchdogVersion } = versions;
    const machine = { ...machineOf(identity), hardwareId, serialNumber, agentVersion, watchdogVersion };
    const labels = this.#host.labels?.();
    for (let attempt = 0; !this.#stopping.stopped; attempt++) {
      const wanted = { enrollmentKey: this.#host.enrollmentKey(), ...machine, ...(labels ? { labels } : {}) };
      const reply = await this.#deps.api.call("POST", "/agents/enroll", wanted);
      const made = reply.status === 201 ? enrollmentIn(reply.body) : null;
      if (made) {
        Object.assign(identity, made);
        this.#obey(reply.body.heartbeatIntervalSeconds);
        identity.intervalSeconds = this.#intervalMs / 1000;
        this.#host.save();
        this.#count("enrolled");
        return true;
      }
      this.reason = reply.code || `status ${reply.status}`;
      this.#count(`enrollment ${reply.code || reply.status}`);
      const isFinal = keyEndings.includes(reply.code) || (reply.status >= 400 && reply.status < 429);
      if (isFinal && !this.#waits(reply.code) && reply.status !== 408) {
        this.#end(this.reason);
        return false;
      }
      await this.#pauseAfter(reply, attempt);
    }
    return false;
  }

  /**
   * The reply, once it was accepted; null ends the agent. Tries again in between: a heartbeat that is late is better
   * than none.
   */
  async #heartbeat(report: UpdateReport | null): Promise<ApiReply["body"] | null> {
    const { identity } = this.#host;
    for (let attempt = 0; !this.#stopping.stopped; attempt++) {
      const startedMs = performance.now();
      const { agent: agentVersion, watchdog: watchdogVersion, helper: helperVersion } = identity.versions;
      const said = { agentVersion, watchdogVersion, helperVersion, ...machineOf(identity), ...this.#host.facts() };
      const reply = await this.call("POST", "/heartbeat", { ...said, ...(report ? { update: report } : {}) });
      if (reply.status === 200) {
        this.#accept(reply.body, report, startedMs);
        return reply.body;
      }
      if (this.#stopping.stopped) return null;
      this.reason = reply.code || `status ${reply.status}`;
      this.#count(`heartbeat ${reply.code || reply.status}`);
      this.state = "waiting";
      if (lost.includes(reply.code) || (liftable.includes(reply.code) && !this.#waits(reply.code))) {
        this.#end(reply.code);
        return null;
      }
      await this.#pauseAfter(reply, attempt);
    }
    return null;
  }

  #accept(body: ApiReply["body"], report: UpdateReport | null, startedMs: number): void {
    const nowMs = performance.now();
    this.#deps.took?.(nowMs - startedMs);
    this.#count("heartbeats");
    if (!Number.isNaN(this.#receivedMs)) this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.#receivedMs);
    this.#receivedMs = nowMs;
    this.state = body.status === "quarantined" ? "quarantined" : "online";
    this.reason = "";
    this.#obey(body.heartbeatIntervalSeconds);
    this.#learnTime(body.serverTime);
    this.#newestOffer = this.#settings.updates === "off" ? null : offerIn(body);
    this.#host.accepted?.(body, report);
  }

  #isOffered({ component, version, sha256 }: Offer): boolean {
    const newest = this.#newestOffer;
    return newest?.component === component && isSameVersion(newest.version, version) && newest.sha256 === sha256;
  }

  /** Prepares an offer and installs it, if it is still offered then. */
  async #carryOut(offer: Offer): Promise<AfterUpdate> {
    await this.#stopping.pause(this.#host.downloadDelayMs?.() ?? 0);
    const prepared = await this.#updater.prepare(offer, this.#serverMs());
    if ("failed" in prepared) {
      this.#count(`updates ${prepared.failed.error}`);
      if (this.#settings.updates === "quiet") return { heartbeat: "next time", report: null };
      return { heartbeat: "at once", report: prepared.failed };
    }
    // Withdrawn meanwhile: the file is kept, since the offer may be back with the next heartbeat.
    if (!this.#isOffered(offer) || this.#stopping.stopped) return { heartbeat: "next time", report: null };
    // Only the agent's own restart silences it.
    this.#isInstalling = offer.component === "agent";
    return this.#updater.install(offer, prepared);
  }

  /** Carries an update out; heartbeats continue meanwhile. */
  async #update(offer: Offer): Promise<AfterUpdate> {
    const { component, version } = offer;
    this.state = "updating";
    this.#count("updates offered");
    let after: AfterUpdate | null = null;
    const work = this.#carryOut(offer).then((done) => {
      after = done;
    });
    while (after === null) {
      await Promise.race([work, this.#stopping.pause(this.#intervalMs)]);
      if (this.#stopping.stopped) return { heartbeat: "never" };
      if (after !== null || this.#isInstalling) continue;
      const report = this.#settings.updates === "quiet" ? null : { component, version, state: "downloading" };
      if ((await this.#heartbeat(report)) === null) return { heartbeat: "never" };
      this.state = "updating";
    }
    this.#isInstalling = false;
    return after;
  }

  async #every({ seconds, run }: Job): Promise<void> {
    if (seconds === 0) return;
    await this.#stopping.pause(this.#random() * seconds * 1000);
    while (!this.#stopping.stopped && !this.#is("ended") && !this.#is("silent")) {
      if (this.#is("online")) await run(this.call);
      await this.#stopping.pause(seconds * 1000 * (1 - jitter + 2 * jitter * this.#random()));
    }
  }

  /** Heartbeats until the end, the first one after `firstMs`, and takes the updates that replies offer. */
  async #beat(first: ApiReply["body"], firstMs: number): Promise<void> {
    let body: ApiReply["body"] | null = first;
    let waitMs = firstMs;
    while (body !== null && !this.#stopping.stopped) {
      const offer: Offer | null = this.#newestOffer;
      let report: UpdateReport | null = null;
      if (offer) {
        const after = await this.#update(offer);
        if (after.heartbeat === "never") {
          if (!this.#stopping.stopped && !this.#is("ended")) this.state = "silent";
          return;
        }
        report = after.report;
        if (after.heartbeat === "at once") waitMs = 0;
        if (after.revert) {
          body = await this.#heartbeat(report);
          await after.revert();
          report = null;
          if (body === null) return;
        }
      }
      if (waitMs > 0) await this.#stopping.pause(waitMs);
      if (this.#stopping.stopped) return;
      body = await this.#heartbeat(report);
      waitMs = this.#intervalMs * (1 - jitter + 2 * jitter * this.#random()) * (1 - jitter);
    }
  }
}
