import { createRequire } from "node:module";
import type { buildConnector as ConnectorBuilder, errors, Client as HttpClient, Pool as HttpPool } from "undici";

const load = createRequire(import.meta.url);

// undici's index also loads fetch, caches, WebSocket and mocks: 110 files and 1.1 MB of text in each process instead of
// 24 files and 240 KB. These paths are not its interface: the version is fixed.
export const Client = load("undici/lib/dispatcher/client.js") as typeof HttpClient;
export const Pool = load("undici/lib/dispatcher/pool.js") as typeof HttpPool;
// The index adds methods to its classes; `request` is the only one that is used here besides `dispatch`.
Pool.prototype.request = load("undici/lib/api/api-request.js") as HttpPool["request"];
export const buildConnector = load("undici/lib/core/connect.js") as typeof ConnectorBuilder;
export const { HTTPParserError } = load("undici/lib/core/errors.js") as typeof errors;
export type Client = HttpClient;
export type Pool = HttpPool;
