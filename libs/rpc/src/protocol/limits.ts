export type PortLimits = {
  /** Largest request message in bytes, after inflating; also the largest message of a stream. */
  maxBodyBytes: number;
  /** Responses of at least this many bytes are compressed for clients that accept it. */
  compressMinBytes: number;
  maxConnections: number;
  /** From connecting to the third byte. */
  firstBytesMs: number;
  /** From the first byte of an HTTP/1.1 request to the end of its headers. */
  headersMs: number;
  /** From the first byte of an HTTP/1.1 request to its last. */
  requestMs: number;
  /** Longer than clients keep an idle connection, so that it is they who close it. */
  keepAliveMs: number;
  /**
   * A gateway has one connection for its streams to a process: more than one organization may have open there
   * (`IN_FLIGHT_MAX_STREAM`), or the slow streams of one would keep all others waiting.
   */
  maxStreamsPerConnection: number;
  /** Megabytes that streams of one connection may hold, mostly for slow readers; beyond it new ones are refused. */
  maxConnectionMegabytes: number;
};

export const defaultLimits: PortLimits = {
  // A body of 4 MiB, and the fields beside it.
  maxBodyBytes: 4 * 1024 * 1024 + 64 * 1024,
  compressMinBytes: 1024,
  maxConnections: 2_000,
  firstBytesMs: 5_000,
  headersMs: 10_000,
  requestMs: 60_000,
  keepAliveMs: 75_000,
  maxStreamsPerConnection: 2_000,
  maxConnectionMegabytes: 256,
};

/** Header block that either side accepts: a caller token may list 500 organizations and 500 sites. */
export const maxHeaderBytes = 64 * 1024;
/** Longest timeout that a timer of Node can hold. */
export const maxTimeoutMs = 2_147_483_647;
