import { createRequire } from "node:module";
import type { buildConnector as ConnectorBuilder, errors, Client as HttpClient, Pool as HttpPool } from "undici";

const load = createRequire(import.meta.url);

// undici's index also loads fetch, caches, WebSocket and mocks: 110 files and 1.1 MB of text in each process instead of
// 24 files and 240 KB. These paths are not its interface: the version is fixed.
export const Client: typeof HttpClient = load("undici/lib/dispatcher/client.js");
export const Pool: typeof HttpPool = load("undici/lib/dispatcher/pool.js");
// The index adds methods to its classes; `request` is the only one that is used here besides `dispatch`.
Pool.prototype.request = load("undici/lib/api/api-request.js");
export const buildConnector: typeof ConnectorBuilder = load("undici/lib/core/connect.js");
export const { HTTPParserError }: typeof errors = load("undici/lib/core/errors.js");

/** What is wrapped of the parser that reads a connection's responses. */
export type ResponseParser = {
  /** Of the response whose body is read; 0 before and between responses. */
  readonly statusCode: number;
  /** Of the response that is read; empty where it has none. */
  contentLength: string;
  execute(chunk: Buffer): void;
  createError(code: number, rest: Buffer): Error;
  onHeadersComplete(status: number, upgrade: boolean, shouldKeepAlive: boolean): number;
};

const { kParser, kSocket }: { kParser: symbol; kSocket: symbol } = load("undici/lib/core/symbols.js");

/** The parser of a connected client of HTTP/1.1. */
export function parserOf(client: object): ResponseParser | null {
  const socket: { [key: symbol]: ResponseParser | null } | null = Reflect.get(client, kSocket);
  return socket?.[kParser] ?? null;
}

export type Client = HttpClient;
export type Pool = HttpPool;
