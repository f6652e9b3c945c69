import { backoffMs, sleep } from "@muster/kit";
import { AckPolicy, DeliverPolicy, nanos, nuid, ReplayPolicy, type StreamInfo } from "nats";
import type { Connection } from "./connection.ts";
import { describe, isMissing } from "./errors.ts";
import { openPull, type Pull } from "./pull.ts";
import { msgIdHeader } from "./transport.ts";
import type { Follower, FollowHandlers, FollowOptions } from "./types.ts";

const batchMax = 256;
const batchBytes = 512 * 1024;
const inactiveMs = 60_000;

/** The last message handled, or the end of the stream when following began (`last` null). */
type Position = { created: string; seq: number; lastTs: string; last: { subject: string; msgId: string } | null };
type Session = { pull: Pull; name: string; epoch: number; expected: number };

/**
 * Reads a stream from now on through its own ephemeral consumer, in order; reports a gap when it cannot prove that
 * nothing was missed.
 */
export function startFollower(connection: Connection, options: FollowOptions, handlers: FollowHandlers): Follower {
  const { jsm, log } = connection;
  const { stream, filterSubject } = options;
  const part = `follower of ${stream}`;
  const stopping = new AbortController();
  let session: Session | null = null;
  let position: Position | null = null;

  /**
   * Whether everything after the position is still in the stream, and the message at the position is still the same.
   */
  const isContinuous = async (info: StreamInfo): Promise<boolean> => {
    if (!position || position.created !== info.created || position.seq > info.state.last_seq) return false;
    if (!position.last) return position.seq === info.state.last_seq && position.lastTs === info.state.last_ts;
    try {
      const stored = await jsm.streams.getMessage(stream, { seq: position.seq });
      return stored.subject === position.last.subject && stored.header.get(msgIdHeader) === position.last.msgId;
    } catch (error) {
      if (isMissing(error, "message")) return false;
      throw error;
    }
  };

  const leave = () => {
    session?.pull.close();
    const name = session?.name;
    session = null;
    // The server removes it after a minute; deleting only makes that sooner.
    if (name && connection.connected()) {
      jsm.consumers.delete(stream, name).catch((error: unknown) => log.debug({ reason: describe(error) }, part));
    }
  };

  /** A handler that throws has not processed its call: that is a gap. */
  const tell = (call: () => void) => {
    try {
      call();
    } catch (error) {
      position = null;
      throw error;
    }
  };

  const begin = async (): Promise<Session> => {
    const epoch = connection.epoch();
    const info = await jsm.streams.info(stream);
    const continuous = await isContinuous(info);
    const from: Position =
      continuous && position
        ? position
        : { created: info.created, seq: info.state.last_seq, lastTs: info.state.last_ts, last: null };
    const name = nuid.next();
    const pull = openPull(connection, stream, name);
    try {
      await jsm.consumers.add(stream, {
        name,
        ack_policy: AckPolicy.None,
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: from.seq + 1,
        replay_policy: ReplayPolicy.Instant,
        filter_subject: filterSubject,
        inactive_threshold: nanos(inactiveMs),
        mem_storage: true,
        num_replicas: 1,
      });
    } catch (error) {
      pull.close();
      throw error;
    }
    session = { pull, name, epoch, expected: 1 };
    position = from;
    if (!continuous) tell(handlers.onGap);
    return session;
  };

  const readOnce = async () => {
    if (session && session.epoch !== connection.epoch()) leave();
    session ??= await begin();
    const { messages, gone } = await session.pull.next(batchMax, batchBytes);
    for (const message of messages) {
      if (message.consumerSeq !== session.expected) return leave();
      session.expected++;
      const { subject, msgId } = message;
      if (position) position = { ...position, seq: message.streamSeq, last: { subject, msgId } };
      tell(() => handlers.onMessage(message));
    }
    if (gone) leave();
  };

  const run = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      await connection.whenConnected();
      if (stopping.signal.aborted) break;
      try {
        await readOnce();
        failures = 0;
        connection.problems.delete(part);
      } catch (error) {
        connection.problems.set(part, `${part}: ${describe(error)}`);
        log.warn({ stream, reason: describe(error) }, "stream cannot be followed, trying again");
        leave();
        await sleep(backoffMs(failures++, 50, 2_000), stopping.signal);
      }
    }
    connection.problems.delete(part);
    leave();
  };
  const offReconnect = connection.onReconnect(() => session?.pull.interrupt());
  const ended = run();

  return {
    stop: () => {
      stopping.abort();
      offReconnect();
      session?.pull.interrupt();
      return ended;
    },
  };
}
