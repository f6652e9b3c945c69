import type { IncomingMessage } from "node:http";
import { createGunzip } from "node:zlib";
import { counter, gauge } from "@muster/kit";
import { EdgeError, overloaded } from "../errors.ts";
import type { BodyEnds } from "../request/body-ends.ts";

export type BodiesOptions = {
  /** Bodies received concurrently. */
  max: number;
  /** Bytes of them in memory. */
  bytesMax: number;
  /** Percent that one owner may hold: of the bodies, and of the free bytes (docs/concepts.md#fair-share). */
  ownerPercent: number;
  /** Milliseconds that any body may take to arrive. */
  graceMs: number;
  /** Bytes a second that justify more time. */
  minBytesPerSecond: number;
  now?: () => number;
};

export type Bodies = {
  /**
   * The bytes of a request's body. `owner` names the share that they count towards. Rejects with EdgeError
   * `payload_too_large` beyond `limitBytes`, `request_timeout` when the body is too slow or is displaced by faster
   * ones, `bad_request` when the client disconnects, and AppError `overloaded` when too many bytes are in memory.
   * `ends` receives all bytes, also those beyond the limit.
   */
  receive(request: IncomingMessage, owner: string, limitBytes: number, ends?: BodyEnds | null): Promise<Buffer>;
  /**
   * The inflated bytes of a gzip body, which count towards `owner` as received bytes do. Inflation stops when they
   * exceed `limitBytes` or the bytes allowed in memory. Rejects as `receive` does, and with `bad_request` for invalid
   * gzip.
   */
  inflate(sent: Buffer, owner: string, limitBytes: number): Promise<Buffer>;
  readonly size: number;
};

/** What is read beyond the limit, so that a client that sends first and reads later still gets its 413. */
export const overrunBytes = 8 * 1024 * 1024;

const sweepMs = 250;
/** 408 replies sent together at most: a client that repeats an aborted body costs no more than that. */
const answeredTogether = 5;
const answerEveryMs = 50;
/** Younger bodies are not compared by their speed. */
const comparedAfterMs = 1_000;

const receivingGauge = gauge("muster_gateway_bodies_in_flight", "Request bodies being received.");
const bytesGauge = gauge("muster_gateway_bodies_in_flight_bytes", "Bytes in memory of request bodies being received.");
const aborted = counter("muster_gateway_bodies_aborted_total", "Request bodies aborted, by reason.", ["reason"]);

type Receiving = {
  owner: Owner;
  startedMs: number;
  received: number;
  kept: number;
  /** Dropped bodies whose reply is not sent yet. */
  isAborted: boolean;
  giveUp(error: Error): void;
  /** Releases its bytes. */
  drop(): void;
};
type Owner = { key: string; bodies: Set<Receiving>; kept: number };

/**
 * Receives bodies before their requests take a slot, so that slow bodies block no other request. Beyond the maximum
 * the slowest body is aborted, not the newest refused: a client that sends one byte a second cannot lock others out.
 */
export function createBodies(options: BodiesOptions): Bodies {
  return new Receiver(options);
}

class Receiver implements Bodies {
  readonly #max: BodiesOptions["max"];
  readonly #bytesMax: BodiesOptions["bytesMax"];
  readonly #ownerPercent: BodiesOptions["ownerPercent"];
  readonly #graceMs: BodiesOptions["graceMs"];
  readonly #minBytesPerSecond: BodiesOptions["minBytesPerSecond"];
  readonly #now: NonNullable<BodiesOptions["now"]>;
  readonly #ownerMax: number;
  readonly #owners = new Map<string, Owner>();
  readonly #all = new Set<Receiving>();
  #kept = 0;
  #watching = false;
  readonly #unanswered: Receiving[] = [];

  constructor(options: BodiesOptions) {
    const { max, bytesMax, ownerPercent, graceMs, minBytesPerSecond, now = () => performance.now() } = options;
    this.#max = max;
    this.#bytesMax = bytesMax;
    this.#ownerPercent = ownerPercent;
    this.#graceMs = graceMs;
    this.#minBytesPerSecond = minBytesPerSecond;
    this.#now = now;
    this.#ownerMax = this.#shareOf(this.#max);
  }

  #shareOf(whole: number) {
    return Math.max(1, Math.floor((whole * this.#ownerPercent) / 100));
  }

  readonly #answerSome = () => {
    for (const body of this.#unanswered.splice(0, answeredTogether)) body.giveUp(tooSlow());
    if (this.#unanswered.length > 0) setTimeout(this.#answerSome, answerEveryMs).unref();
  };

  // Its slot and bytes are free immediately; its reply is queued.
  #abort(body: Receiving | null, reason: "slow" | "share" | "all") {
    if (body === null) return;
    aborted.inc({ reason });
    body.isAborted = true;
    body.drop();
    this.#end(body);
    this.#unanswered.push(body);
    if (this.#unanswered.length === 1) setTimeout(this.#answerSome, answerEveryMs).unref();
  }

  readonly #sweep = () => {
    this.#watching = false;
    const atMs = this.#now();
    for (const body of [...this.#all]) {
      if (atMs - body.startedMs > this.#graceMs + (body.received * 1_000) / this.#minBytesPerSecond)
        this.#abort(body, "slow");
    }
    receivingGauge.set(this.#all.size);
    bytesGauge.set(this.#kept);
    if (this.#all.size > 0) this.#watch();
  };

  #watch() {
    if (this.#watching) return;
    this.#watching = true;
    setTimeout(this.#sweep, sweepMs).unref();
  }

  #start(key: string, { giveUp, drop }: Pick<Receiving, "giveUp" | "drop">): Receiving {
    const before = this.#owners.get(key);
    if (before !== undefined && before.bodies.size >= this.#ownerMax)
      this.#abort(slowestOf(before.bodies, this.#now()), "share");
    else if (this.#all.size >= this.#max) this.#abort(slowestOf(this.#all, this.#now()), "all");
    let owner = this.#owners.get(key);
    if (owner === undefined) {
      owner = { key, bodies: new Set(), kept: 0 };
      this.#owners.set(key, owner);
    }
    const body: Receiving = { owner, startedMs: this.#now(), received: 0, kept: 0, isAborted: false, giveUp, drop };
    owner.bodies.add(body);
    this.#all.add(body);
    this.#watch();
    return body;
  }

  #end(body: Receiving) {
    if (!this.#all.delete(body)) return;
    const { owner } = body;
    this.#keep(body, -body.kept);
    owner.bodies.delete(body);
    if (owner.bodies.size === 0) this.#owners.delete(owner.key);
  }

  #keep(body: Receiving, bytes: number) {
    body.kept += bytes;
    body.owner.kept += bytes;
    this.#kept += bytes;
  }

  /** The outcome of a body; its promise settles once, and `ended` is called then. */
  #collect(
    ownerKey: string,
    { resolve, reject }: { resolve(bytes: Buffer): void; reject(error: Error): void },
    ended: () => void = () => undefined,
  ) {
    let chunks: Buffer[] = [];
    let over = false;
    const settle = (error: Error | null) => {
      if (over) return;
      over = true;
      this.#end(body);
      ended();
      if (body.isAborted) reject(tooSlow());
      else if (error === null) resolve(Buffer.concat(chunks));
      else reject(error);
      chunks = [];
    };
    const drop = () => {
      chunks = [];
      this.#keep(body, -body.kept);
    };
    const body = this.#start(ownerKey, { giveUp: settle, drop });
    return {
      body,
      settle,
      drop,
      isSettled: () => over,
      isOver: () => over || body.isAborted,
      take: (chunk: Buffer) => {
        chunks.push(chunk);
        this.#keep(body, chunk.length);
        if (body.owner.kept <= this.#shareOf(this.#bytesMax - this.#kept + body.owner.kept)) return;
        aborted.inc({ reason: "bytes" });
        settle(overloaded());
      },
    };
  }

  readonly receive = (
    request: IncomingMessage,
    ownerKey: string,
    limitBytes: number,
    ends?: BodyEnds | null,
  ): Promise<Buffer> => {
    return new Promise((resolve, reject) => {
      const { body, settle, drop, isSettled, isOver, take } = this.#collect(ownerKey, { resolve, reject });
      const tooLarge = () => settle(payloadTooLarge(limitBytes));
      // Keeps reading after the end and discards the data, so that the reply can be sent.
      request.on("data", (chunk: Buffer) => {
        if (isOver()) return;
        body.received += chunk.length;
        ends?.add(chunk);
        if (body.received <= limitBytes) return take(chunk);
        drop();
        if (body.received > limitBytes + overrunBytes) tooLarge();
      });
      request.on("end", () => (body.received > limitBytes ? tooLarge() : settle(null)));
      // The socket has closed or the framing is invalid: the client does not read a reply, or the parser has already
      // answered. Each request closes in the end, and creating an error captures a stack trace.
      const gone = () => {
        if (!isSettled()) settle(new EdgeError("bad_request", "Request body was aborted"));
      };
      request.on("error", gone);
      request.on("close", gone);
      // The client may have disconnected while its credential was resolved.
      if (request.destroyed && !request.readableEnded) gone();
    });
  };

  readonly inflate = (sent: Buffer, ownerKey: string, limitBytes: number): Promise<Buffer> => {
    return new Promise((resolve, reject) => {
      const gunzip = createGunzip();
      const { body, settle, isOver, take } = this.#collect(ownerKey, { resolve, reject }, () => gunzip.destroy());
      gunzip.on("data", (chunk: Buffer) => {
        // Aborted while it waited: the reply is no longer queued.
        if (isOver()) return settle(null);
        body.received += chunk.length;
        if (body.received > limitBytes) settle(payloadTooLarge(limitBytes));
        else take(chunk);
      });
      gunzip.on("end", () => settle(null));
      gunzip.on("error", () => settle(new EdgeError("bad_request", "Request body is not valid gzip")));
      gunzip.end(sent);
    });
  };

  get size(): number {
    return this.#all.size;
  }
}

const tooSlow = () => new EdgeError("request_timeout", "Request body did not arrive in time");

export function payloadTooLarge(limitBytes: number): EdgeError {
  return new EdgeError("payload_too_large", `Request body is larger than ${limitBytes} bytes`);
}

/**
 * The body with the fewest bytes per second; the oldest when all have just started. Bodies are listed in the order in
 * which they started.
 */
function slowestOf(bodies: ReadonlySet<Receiving>, atMs: number): Receiving | null {
  let oldest: Receiving | null = null;
  let slowest: Receiving | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const body of bodies) {
    oldest ??= body;
    const ageMs = atMs - body.startedMs;
    if (ageMs < comparedAfterMs) break;
    const perMs = body.received / ageMs;
    if (perMs < fewest) {
      fewest = perMs;
      slowest = body;
    }
  }
  return slowest ?? oldest;
}
