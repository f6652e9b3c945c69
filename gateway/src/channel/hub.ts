import { randomInt } from "node:crypto";
import type { Relay } from "@muster/bus";
import { AppError, agentChunkBytes, counter, gauge, type Logger, uuidv7 } from "@muster/kit";
import WebSocket, { WebSocketServer } from "ws";
import { patienceMs } from "../auth/watches.ts";
import type { Agent } from "../route/credential.ts";
import { AgentChannel, closeCodes } from "./agent-channel.ts";
import { readEpochs } from "./epochs.ts";

export type HubOptions = {
  /** The agent of a digest, still admitted to its channel. Throws AppError. */
  admit(digest: string): Agent | Promise<Agent>;
  log: Logger;
  pingMs?: number;
  deadMs?: number;
  /** For identity's answer about a device that changed. */
  waitMs?: number;
  nowMs?: () => number;
};

export type ChannelHub = {
  /** Completes the upgrade of a request that was admitted. */
  readonly upgrade: WebSocketServer["handleUpgrade"];
  open(socket: WebSocket, agent: Agent, digest: string): void;
  /** Connects the channels to the bus once it is available. */
  attach(relay: Relay): void;
  /**
   * Checks again whether these agents are admitted, whose tenant changed, and closes the channels of those that are
   * not, or of which identity cannot say.
   */
  recheck(matches: (channel: { agent: Agent; digest: string }) => boolean): void;
  /** Checks all agents again: a change may have been missed. While identity is unavailable their channels stay open. */
  recheckAll(): void;
  /**
   * Checks one device now, whatever waits to be checked: its token may have been revoked. Closes its channel, too, when
   * identity does not answer in time.
   */
  recheckDevice(deviceId: string): void;
  /** Closes all channels: revocations no longer wait for this gateway. */
  closeAll(): void;
  /**
   * Sends each agent a reconnect within `spreadMs`, and resolves when all have disconnected; the remaining ones are
   * closed.
   */
  drain(spreadMs: number): Promise<void>;
  readonly size: number;
};

/** Interval of pings; a connection is closed after the second one without a pong. */
const pingEveryMs = 30_000;
const deadAfterMs = 60_000;
const tickMs = 1_000;
/** Frames per minute that an agent may send besides the answers to queries. */
const unsolicitedMax = 10_000;
const unsolicitedTicks = 60;
/** Grace after the last agent was sent a reconnect. */
const disconnectGraceMs = 5_000;
const recheckConcurrency = 20;
const announceMax = 500;
const epochSubject = "agent.epoch";
const headBytes = 16 * 1024;

const channelsGauge = gauge("muster_gateway_agent_channels", "Agents connected to this gateway.");
const closed = counter("muster_gateway_agent_channels_closed_total", "Channels closed, by reason.", ["reason"]);

/**
 * All agent channels of this gateway: keeps them alive, connects each with its device's subject on the bus, and sees to
 * it that of several connections of one device, here or at other gateways, the newest stays
 * (gateway/src/channel/README.md#epochs).
 */
export function createChannelHub(options: HubOptions): ChannelHub {
  return new Hub(options);
}

class Hub implements ChannelHub {
  readonly #admit: HubOptions["admit"];
  readonly #log: HubOptions["log"];
  readonly #waitMs: NonNullable<HubOptions["waitMs"]>;
  readonly #nowMs: NonNullable<HubOptions["nowMs"]>;
  readonly #gatewayId = uuidv7();
  readonly #channels = new Map<string, AgentChannel>();
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: agentChunkBytes + headBytes,
    perMessageDeflate: false,
    clientTracking: false,
    skipUTF8Validation: true,
  });
  #relay: Relay | null = null;
  // Never below any epoch that was received: later connections get higher ones whatever the gateways' clocks say.
  #lastEpoch = 0;
  #allGone: (() => void) | null = null;
  readonly #stale = new Set<AgentChannel>();
  /** Those whose agent may have been refused: without an answer they do not stay open. */
  readonly #changed = new Set<AgentChannel>();
  /** By device, not by channel: a new connection is no fresh start. */
  readonly #unsolicited = new Map<string, number>();
  #rechecking = 0;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly upgrade: ChannelHub["upgrade"];

  constructor(options: HubOptions) {
    const { admit, log, pingMs = pingEveryMs, deadMs = deadAfterMs, waitMs = patienceMs } = options;
    this.#admit = admit;
    this.#log = log;
    this.#waitMs = waitMs;
    const { nowMs = () => performance.now() } = options;
    this.#nowMs = nowMs;
    let ticks = 0;
    this.#timer = setInterval(() => {
      const now = this.#nowMs();
      ticks += 1;
      if (ticks % unsolicitedTicks === 0) this.#unsolicited.clear();
      for (const channel of this.#channels.values()) {
        if (now - channel.aliveMs > deadMs) {
          closed.inc({ reason: "dead" });
          channel.socket.terminate();
          this.#gone(channel);
        } else if (now - channel.pingedMs >= pingMs) {
          channel.pingedMs = now;
          channel.socket.ping();
        }
        if (ticks % 2 === 0 && channel.queries.size > 0) channel.tick(now);
      }
    }, tickMs);
    this.#timer.unref();
    this.upgrade = this.#server.handleUpgrade.bind(this.#server);
  }

  #isCurrent(channel: AgentChannel) {
    return this.#channels.get(channel.agent.id) === channel;
  }

  #close(channel: AgentChannel, code: keyof typeof closeCodes) {
    closed.inc({ reason: code });
    channel.socket.close(closeCodes[code], code);
    this.#gone(channel);
    // A connection that does not answer the close frame is terminated.
    setTimeout(() => channel.socket.terminate(), 2_000).unref();
  }

  #gone(channel: AgentChannel) {
    channel.leave();
    channel.abandon("connection_lost");
    this.#stale.delete(channel);
    this.#changed.delete(channel);
    if (!this.#isCurrent(channel)) return;
    this.#channels.delete(channel.agent.id);
    channelsGauge.set(this.#channels.size);
    if (this.#channels.size === 0) this.#allGone?.();
  }

  #listen(channel: AgentChannel) {
    if (!this.#relay) return;
    const subscription = this.#relay.listen(`agent.rpc.${channel.agent.id}`, (bytes, answer) =>
      channel.take(bytes, answer, this.#nowMs()),
    );
    channel.leave = subscription.stop;
  }

  /** Counts unsolicited frames: a few late chunks are normal, while a flood of frames would delay all other agents. */
  #isOneMore({ agent }: AgentChannel): boolean {
    const frames = (this.#unsolicited.get(agent.id) ?? 0) + 1;
    this.#unsolicited.set(agent.id, frames);
    return frames <= unsolicitedMax;
  }

  /** A bug in reading what one agent sent costs that agent its channel, never the gateway all of them. */
  #isBearable(channel: AgentChannel, bytes: Uint8Array): boolean {
    // Frames still arrive until the peer has answered the close frame.
    if (!this.#isCurrent(channel)) return true;
    try {
      const outcome = channel.receive(bytes);
      return outcome === "taken" || (outcome === "unsolicited" && this.#isOneMore(channel));
    } catch (err) {
      this.#log.error({ err, deviceId: channel.agent.id }, "agent's frame not handled");
      return false;
    }
  }

  #announce(list: readonly AgentChannel[]) {
    for (let from = 0; from < list.length; from += announceMax) {
      const epochs = list.slice(from, from + announceMax).map(({ agent, epoch }) => [agent.id, epoch]);
      this.#relay?.publish(epochSubject, Buffer.from(JSON.stringify({ gateway: this.#gatewayId, epochs })));
    }
  }

  #receiveEpochs(bytes: Uint8Array) {
    const { gateway, epochs, ignored } = readEpochs(bytes, Date.now());
    if (ignored > 0) this.#log.warn({ gateway, ignored }, "epochs ignored that no gateway can have announced");
    if (gateway === this.#gatewayId) return;
    const newer: AgentChannel[] = [];
    for (const [deviceId, epoch] of epochs) {
      this.#lastEpoch = Math.max(this.#lastEpoch, epoch);
      const own = this.#channels.get(deviceId);
      if (own && own.epoch < epoch) this.#close(own, "replaced");
      else if (own) newer.push(own);
    }
    // The other gateway was disconnected when these were announced.
    this.#announce(newer);
  }

  #checkNext(): void {
    while (this.#rechecking < recheckConcurrency) {
      const [channel] = this.#stale;
      if (!channel) return;
      this.#stale.delete(channel);
      this.#rechecking += 1;
      void this.#check(channel).finally(() => {
        this.#rechecking -= 1;
        this.#checkNext();
      });
    }
  }

  /** Whether the agent is still admitted; null while identity does not answer. */
  async #isAdmitted(channel: AgentChannel): Promise<boolean | null> {
    try {
      channel.agent = await this.#admit(channel.digest);
      return true;
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "unavailable" || error.code === "overloaded") return null;
      this.#log.info({ deviceId: channel.agent.id, code: error.code }, "agent no longer admitted to its channel");
      return false;
    }
  }

  #closeIfOpen(channel: AgentChannel, code: keyof typeof closeCodes) {
    if (this.#isCurrent(channel) && channel.socket.readyState === WebSocket.OPEN) this.#close(channel, code);
  }

  async #check(channel: AgentChannel): Promise<void> {
    const isChanged = this.#changed.delete(channel);
    const answer = await this.#isAdmitted(channel);
    if (answer === false) this.#closeIfOpen(channel, "refused");
    else if (answer === null && isChanged) this.#closeIfOpen(channel, "unverified");
    // Identity is unavailable: the channel stays open for as long as the lease is held.
    else if (answer === null) setTimeout(() => this.#isCurrent(channel) && this.#later(channel), 5_000).unref();
  }

  /** What changed may be a revocation: without an answer the channel does not stay open. */
  async #checkNow(channel: AgentChannel): Promise<void> {
    const late = setTimeout(() => this.#closeIfOpen(channel, "unverified"), this.#waitMs);
    const answer = await this.#isAdmitted(channel);
    clearTimeout(late);
    if (answer !== true) this.#closeIfOpen(channel, answer === false ? "refused" : "unverified");
  }

  #later(channel: AgentChannel) {
    this.#stale.add(channel);
    this.#checkNext();
  }

  readonly open = (socket: WebSocket, agent: Agent, digest: string): void => {
    this.#lastEpoch = Math.max(this.#lastEpoch + 1, Date.now());
    const channel = new AgentChannel(socket, this.#lastEpoch, agent, digest, this.#nowMs());
    const before = this.#channels.get(agent.id);
    this.#channels.set(agent.id, channel);
    if (before) this.#close(before, "replaced");
    channelsGauge.set(this.#channels.size);
    const noteAlive = () => {
      channel.aliveMs = this.#nowMs();
    };
    socket.on("message", (data) => {
      noteAlive();
      if (this.#isBearable(channel, bytesOf(data))) return;
      channel.abandon("device_error");
      this.#close(channel, "protocol");
    });
    socket.on("pong", noteAlive);
    socket.on("ping", () => {
      noteAlive();
      if (this.#isCurrent(channel) && !this.#isOneMore(channel)) this.#close(channel, "protocol");
    });
    socket.on("close", () => this.#gone(channel));
    // Oversized or broken frames: ws closes the connection afterwards.
    socket.on("error", (err) => this.#log.debug({ err, deviceId: agent.id }, "agent channel failed"));
    this.#listen(channel);
    this.#announce([channel]);
    // What changed between the upgrade's checks and now found no channel to check.
    this.#later(channel);
  };

  readonly attach = (bus: Relay): void => {
    this.#relay = bus;
    bus.listen(epochSubject, (bytes) => {
      try {
        this.#receiveEpochs(bytes);
      } catch (err) {
        this.#log.warn({ err }, "unreadable message on agent.epoch");
      }
    });
    for (const channel of this.#channels.values()) this.#listen(channel);
    this.#announce([...this.#channels.values()]);
    // What was announced while the connection was away did not arrive.
    bus.onReconnect(() => this.#announce([...this.#channels.values()]));
  };

  readonly recheckDevice = (deviceId: string): void => {
    const channel = this.#channels.get(deviceId);
    if (channel) void this.#checkNow(channel);
  };

  readonly closeAll = (): void => {
    for (const channel of [...this.#channels.values()]) this.#closeIfOpen(channel, "unverified");
  };

  readonly recheck = (matches: (channel: { agent: Agent; digest: string }) => boolean): void => {
    for (const channel of this.#channels.values()) {
      if (!matches(channel)) continue;
      this.#changed.add(channel);
      this.#stale.add(channel);
    }
    this.#checkNext();
  };

  readonly recheckAll = (): void => {
    for (const channel of this.#channels.values()) this.#stale.add(channel);
    this.#checkNext();
  };

  readonly drain = async (spreadMs: number): Promise<void> => {
    if (this.#channels.size > 0) {
      const empty = new Promise<void>((resolve) => {
        this.#allGone = resolve;
      });
      for (const channel of this.#channels.values()) {
        channel.send({ type: "reconnect", afterMs: spreadMs > 0 ? randomInt(spreadMs) : 0 });
      }
      const deadline = setTimeout(() => {
        for (const channel of [...this.#channels.values()]) {
          channel.socket.terminate();
          this.#gone(channel);
        }
      }, spreadMs + disconnectGraceMs);
      await empty;
      clearTimeout(deadline);
    }
    clearInterval(this.#timer);
  };

  get size(): number {
    return this.#channels.size;
  }
}

function bytesOf(data: WebSocket.RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}
