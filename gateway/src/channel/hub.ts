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
  const { admit, log, pingMs = pingEveryMs, deadMs = deadAfterMs, waitMs = patienceMs } = options;
  const { nowMs = () => performance.now() } = options;
  const gatewayId = uuidv7();
  const channels = new Map<string, AgentChannel>();
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: agentChunkBytes + headBytes,
    perMessageDeflate: false,
    clientTracking: false,
    skipUTF8Validation: true,
  });
  let relay: Relay | null = null;
  // Never below any epoch that was received: later connections get higher ones whatever the gateways' clocks say.
  let lastEpoch = 0;
  let ticks = 0;
  let allGone: (() => void) | null = null;
  const stale = new Set<AgentChannel>();
  /** Those whose agent may have been refused: without an answer they do not stay open. */
  const changed = new Set<AgentChannel>();
  /** By device, not by channel: a new connection is no fresh start. */
  const unsolicited = new Map<string, number>();
  let rechecking = 0;

  const isCurrent = (channel: AgentChannel) => channels.get(channel.agent.id) === channel;

  const close = (channel: AgentChannel, code: keyof typeof closeCodes) => {
    closed.inc({ reason: code });
    channel.socket.close(closeCodes[code], code);
    gone(channel);
    // A connection that does not answer the close frame is terminated.
    setTimeout(() => channel.socket.terminate(), 2_000).unref();
  };

  const gone = (channel: AgentChannel) => {
    channel.leave();
    channel.abandon("connection_lost");
    stale.delete(channel);
    changed.delete(channel);
    if (!isCurrent(channel)) return;
    channels.delete(channel.agent.id);
    channelsGauge.set(channels.size);
    if (channels.size === 0) allGone?.();
  };

  const listen = (channel: AgentChannel) => {
    if (!relay) return;
    const subscription = relay.listen(`agent.rpc.${channel.agent.id}`, (bytes, answer) =>
      channel.take(bytes, answer, nowMs()),
    );
    channel.leave = subscription.stop;
  };

  /** Counts unsolicited frames: a few late chunks are normal, while a flood of frames would delay all other agents. */
  const isOneMore = ({ agent }: AgentChannel): boolean => {
    const frames = (unsolicited.get(agent.id) ?? 0) + 1;
    unsolicited.set(agent.id, frames);
    return frames <= unsolicitedMax;
  };

  /** A bug in reading what one agent sent costs that agent its channel, never the gateway all of them. */
  const isBearable = (channel: AgentChannel, bytes: Uint8Array): boolean => {
    // Frames still arrive until the peer has answered the close frame.
    if (!isCurrent(channel)) return true;
    try {
      const outcome = channel.receive(bytes);
      return outcome === "taken" || (outcome === "unsolicited" && isOneMore(channel));
    } catch (err) {
      log.error({ err, deviceId: channel.agent.id }, "agent's frame not handled");
      return false;
    }
  };

  const announce = (list: readonly AgentChannel[]) => {
    for (let from = 0; from < list.length; from += announceMax) {
      const epochs = list.slice(from, from + announceMax).map(({ agent, epoch }) => [agent.id, epoch]);
      relay?.publish(epochSubject, Buffer.from(JSON.stringify({ gateway: gatewayId, epochs })));
    }
  };

  const receiveEpochs = (bytes: Uint8Array) => {
    const { gateway, epochs, ignored } = readEpochs(bytes, Date.now());
    if (ignored > 0) log.warn({ gateway, ignored }, "epochs ignored that no gateway can have announced");
    if (gateway === gatewayId) return;
    const newer: AgentChannel[] = [];
    for (const [deviceId, epoch] of epochs) {
      lastEpoch = Math.max(lastEpoch, epoch);
      const own = channels.get(deviceId);
      if (own && own.epoch < epoch) close(own, "replaced");
      else if (own) newer.push(own);
    }
    // The other gateway was disconnected when these were announced.
    announce(newer);
  };

  const checkNext = (): void => {
    while (rechecking < recheckConcurrency) {
      const [channel] = stale;
      if (!channel) return;
      stale.delete(channel);
      rechecking += 1;
      void check(channel).finally(() => {
        rechecking -= 1;
        checkNext();
      });
    }
  };

  /** Whether the agent is still admitted; null while identity does not answer. */
  const isAdmitted = async (channel: AgentChannel): Promise<boolean | null> => {
    try {
      channel.agent = await admit(channel.digest);
      return true;
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "unavailable" || error.code === "overloaded") return null;
      log.info({ deviceId: channel.agent.id, code: error.code }, "agent no longer admitted to its channel");
      return false;
    }
  };
  const closeIfOpen = (channel: AgentChannel, code: keyof typeof closeCodes) => {
    if (isCurrent(channel) && channel.socket.readyState === WebSocket.OPEN) close(channel, code);
  };

  const check = async (channel: AgentChannel): Promise<void> => {
    const isChanged = changed.delete(channel);
    const answer = await isAdmitted(channel);
    if (answer === false) closeIfOpen(channel, "refused");
    else if (answer === null && isChanged) closeIfOpen(channel, "unverified");
    // Identity is unavailable: the channel stays open for as long as the lease is held.
    else if (answer === null) setTimeout(() => isCurrent(channel) && later(channel), 5_000).unref();
  };
  /** What changed may be a revocation: without an answer the channel does not stay open. */
  const checkNow = async (channel: AgentChannel): Promise<void> => {
    const late = setTimeout(() => closeIfOpen(channel, "unverified"), waitMs);
    const answer = await isAdmitted(channel);
    clearTimeout(late);
    if (answer !== true) closeIfOpen(channel, answer === false ? "refused" : "unverified");
  };
  const later = (channel: AgentChannel) => {
    stale.add(channel);
    checkNext();
  };

  const timer = setInterval(() => {
    const now = nowMs();
    ticks += 1;
    if (ticks % unsolicitedTicks === 0) unsolicited.clear();
    for (const channel of channels.values()) {
      if (now - channel.aliveMs > deadMs) {
        closed.inc({ reason: "dead" });
        channel.socket.terminate();
        gone(channel);
      } else if (now - channel.pingedMs >= pingMs) {
        channel.pingedMs = now;
        channel.socket.ping();
      }
      if (ticks % 2 === 0 && channel.queries.size > 0) channel.tick(now);
    }
  }, tickMs);
  timer.unref();

  return {
    upgrade: server.handleUpgrade.bind(server),
    open(socket, agent, digest) {
      lastEpoch = Math.max(lastEpoch + 1, Date.now());
      const channel = new AgentChannel(socket, lastEpoch, agent, digest, nowMs());
      const before = channels.get(agent.id);
      channels.set(agent.id, channel);
      if (before) close(before, "replaced");
      channelsGauge.set(channels.size);
      const noteAlive = () => {
        channel.aliveMs = nowMs();
      };
      socket.on("message", (data) => {
        noteAlive();
        if (isBearable(channel, bytesOf(data))) return;
        channel.abandon("device_error");
        close(channel, "protocol");
      });
      socket.on("pong", noteAlive);
      socket.on("ping", () => {
        noteAlive();
        if (isCurrent(channel) && !isOneMore(channel)) close(channel, "protocol");
      });
      socket.on("close", () => gone(channel));
      // Oversized or broken frames: ws closes the connection afterwards.
      socket.on("error", (err) => log.debug({ err, deviceId: agent.id }, "agent channel failed"));
      listen(channel);
      announce([channel]);
      // What changed between the upgrade's checks and now found no channel to check.
      later(channel);
    },
    attach(bus) {
      relay = bus;
      bus.listen(epochSubject, (bytes) => {
        try {
          receiveEpochs(bytes);
        } catch (err) {
          log.warn({ err }, "unreadable message on agent.epoch");
        }
      });
      for (const channel of channels.values()) listen(channel);
      announce([...channels.values()]);
      // What was announced while the connection was away did not arrive.
      bus.onReconnect(() => announce([...channels.values()]));
    },
    recheckDevice(deviceId) {
      const channel = channels.get(deviceId);
      if (channel) void checkNow(channel);
    },
    closeAll() {
      for (const channel of [...channels.values()]) closeIfOpen(channel, "unverified");
    },
    recheck(matches) {
      for (const channel of channels.values()) {
        if (!matches(channel)) continue;
        changed.add(channel);
        stale.add(channel);
      }
      checkNext();
    },
    recheckAll() {
      for (const channel of channels.values()) stale.add(channel);
      checkNext();
    },
    async drain(spreadMs) {
      if (channels.size > 0) {
        const empty = new Promise<void>((resolve) => {
          allGone = resolve;
        });
        for (const channel of channels.values()) {
          channel.send({ type: "reconnect", afterMs: spreadMs > 0 ? randomInt(spreadMs) : 0 });
        }
        const deadline = setTimeout(() => {
          for (const channel of [...channels.values()]) {
            channel.socket.terminate();
            gone(channel);
          }
        }, spreadMs + disconnectGraceMs);
        await empty;
        clearTimeout(deadline);
      }
      clearInterval(timer);
    },
    get size() {
      return channels.size;
    },
  };
}

function bytesOf(data: WebSocket.RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}
