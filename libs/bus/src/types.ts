import type { Logger } from "@muster/kit";

export type StreamName = "AUDIT" | "EVENTS" | "TENANCY" | "AUTH" | "CHECKPOINTS";

/**
 * The acknowledgement of a publish: the stream (its creation time identifies a re-created one) and the position in it.
 */
export type Promised = { stream: string; created: string; seq: number };

export type OutgoingMessage = { subject: string; msgId: string; body: Uint8Array; traceparent?: string | null };

export type Transport = {
  /**
   * Stores one message and resolves after the stream's acknowledgement. Throws AppError `unavailable` or
   * `permission_denied`.
   */
  publish(message: OutgoingMessage): Promise<Promised>;
  /** The message at a position of a stream now; `msgId` is null when there is none. Throws AppError `unavailable`. */
  lookup(stream: string, seq: number): Promise<{ created: string; msgId: string | null }>;
  onReconnect(listener: () => void): void;
};

export type BusMessage = {
  subject: string;
  /** Empty when the publisher set none. */
  msgId: string;
  body: Uint8Array;
  streamSeq: number;
  /** How often the server has delivered it, this time included. */
  deliveries: number;
  traceparent: string | null;
};

export type ConsumeOptions = {
  stream: StreamName;
  /**
   * On TENANCY the service's own name (the permission file allows no other), and created by tenancy; free on a stream
   * that the service owns.
   */
  durable: string;
  filterSubject: string;
  /** Equal to `batchMax` it keeps one batch in flight over all replicas. */
  maxAckPending: number;
  batchMax: number;
  batchBytes: number;
  /** Deliveries after which a message that still fails by itself is dead-lettered. */
  maxDeliver: number;
  /** Awaited before each pull: a reader of many durables bounds by it how many messages wait in memory. */
  room?(): Promise<void>;
  /** Must store the message durably: it is acknowledged afterwards, and the stream delivers it no more. */
  onDeadLetter(message: BusMessage, reason: string): Promise<void>;
};

export type Handler = (batch: BusMessage[]) => Promise<void>;

export type Consumer = {
  /**
   * Positions in the stream: `settled`, up to which every message was acknowledged, by whichever replica; `delivered`,
   * up to which they were handed out. Throws AppError `unavailable`.
   */
  floor(): Promise<{ settled: number; delivered: number }>;
  /** Ends after the present batch; messages that were not handled are returned to the stream. */
  stop(): Promise<void>;
};

export type FollowOptions = { stream: StreamName; filterSubject: string };

export type FollowHandlers = {
  onMessage(message: BusMessage): void;
  /**
   * Called when following has started and after each interruption in which messages may have been missed: load the
   * state again.
   */
  onGap(): void;
};

export type Follower = { stop(): Promise<void> };

/** Core NATS, besides the streams: for requests that are answered now or never. Nothing is stored. */
export type Relay = {
  /**
   * Sends a request and passes on every reply until stopped. `onNobody` when the subject has no subscriber, or the
   * connection is lost: an answer would not come. Throws AppError `unavailable` without a connection.
   */
  request(
    subject: string,
    body: Uint8Array,
    on: { answer(body: Uint8Array): void; nobody(lost: boolean): void },
  ): { stop(): void };
  /**
   * Subscribes; `answer` sends one message back to the requester: none when no reply was requested, or one to a subject
   * that is not for answers (`agent.answer.*`).
   */
  listen(
    subject: string,
    handler: (body: Uint8Array, answer: (body: Uint8Array) => void, subject: string) => void,
  ): { stop(): void };
  /** Publishes to current subscribers; lost while there is no connection. */
  publish(subject: string, body: Uint8Array): void;
  /** Resolves when the server has all that was sent and subscribed before. */
  flush(): Promise<void>;
  /** Called after each reconnect: messages published meanwhile were missed. */
  onReconnect(listener: () => void): void;
};

export type Bus = {
  relay: Relay;
  transport: Transport;
  /**
   * Makes the stream, or brings it to our configuration, and re-creates it whenever it disappears. Owner of the stream
   * only.
   */
  ensureStream(name: StreamName): Promise<void>;
  consume(options: ConsumeOptions, handler: Handler): Consumer;
  follow(options: FollowOptions, handlers: FollowHandlers): Follower;
  /**
   * Bodies of the messages that a stream keeps of a subject, oldest first, at most `most` of them. Throws AppError
   * `unavailable`.
   */
  kept(stream: StreamName, subject: string, most: number): Promise<Uint8Array[]>;
  /**
   * Body of the newest message that a stream keeps of a subject; null when it keeps none. Throws AppError
   * `unavailable`.
   */
  newest(stream: StreamName, subject: string): Promise<Uint8Array | null>;
  /** "ok", or what is wrong as text for `/readyz?verbose`. */
  check(): Promise<string>;
  /** Stops consumers and followers, drains, disconnects. */
  close(): Promise<void>;
};

export type BusOptions = {
  /** `nats://host:port` or `tls://host:port`, several comma-separated. */
  servers: string;
  seed: string;
  /** The service's name: its NATS user, its inbox prefix and its name in the server's log. */
  name: string;
  /** Replicas of the streams that this service owns. */
  replicas: number;
  log: Logger;
  tls?: BusTls;
  /**
   * Once aborted, the next failure to connect is thrown as AppError `unavailable`; without it, it is tried for ever.
   */
  signal?: AbortSignal;
};

/**
 * PEM files, read for each connection: authorities of the servers (else the system's), a certificate of our own and its
 * key.
 */
export type BusTls = { ca?: string | undefined; cert?: string | undefined; key?: string | undefined };
