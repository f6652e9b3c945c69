import type { IncomingMessage, Server } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { AppError, clientNetwork, type Logger, uuidv7 } from "@muster/kit";
import type { AgentRates } from "../auth/agent-rates.ts";
import { agentDigestOf } from "../auth/agent-token.ts";
import { type AccessRules, type Authenticate, bearerToken, checkAccess, checkOwnId } from "../auth/authenticate.ts";
import { EdgeError, errorReply, unavailable } from "../errors.ts";
import type { NewestRequests } from "../http/newest-requests.ts";
import type { FindRoute } from "../http/route-table.ts";
import type { Shedder } from "../http/shedding.ts";
import { parseTarget } from "../http/target.ts";
import { validate } from "../http/validate.ts";
import type { ClientAddressRule } from "../request/client-address.ts";
import type { HeaderReader, Inbound } from "../request/headers.ts";
import type { Agent } from "../route/credential.ts";
import { jsonType } from "../route/reply.ts";
import type { Route } from "../route/route.ts";
import type { ChannelHub } from "./hub.ts";

export type UpgradeOptions = {
  /** The row of the channel. */
  row: Route;
  hub: ChannelHub;
  newestRequests: Pick<NewestRequests, "afterLast">;
  find: FindRoute;
  readHeaders: HeaderReader;
  authenticate: Authenticate;
  accessRules: AccessRules;
  /** Whether revocations wait for this gateway: without that a channel would end immediately. */
  hasLease(): boolean;
  agentRates: AgentRates;
  shedder: Pick<Shedder, "enter" | "enterShare" | "leave">;
  clientAddress: ClientAddressRule;
  now: () => number;
  draining: () => boolean;
  log: Logger;
};

/**
 * Handles agents' upgrade requests, with the checks of every other route. A request that offers another upgrade (h2c)
 * is served without it: because of this listener, Node would not serve it.
 */
export function acceptChannels(server: Server, options: UpgradeOptions): void {
  const take = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (socket.destroyed) return;
    if (request.headers.upgrade?.toLowerCase() !== "websocket" || request.method !== "GET") {
      return replay(server, request, socket as Socket, head);
    }
    const broken = () => socket.destroy();
    socket.on("error", broken);
    admit(options, request).then(
      ({ agent, digest }) => {
        if (socket.destroyed) return;
        socket.off("error", broken);
        options.hub.upgrade(request, socket, head, (channel) => options.hub.open(channel, agent, digest));
      },
      (error: unknown) => refuse(socket, error, options.log),
    );
  };
  // Node hands the connection over as soon as it has read the offer: replies to earlier requests are sent first.
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    options.newestRequests.afterLast(socket, () => take(request, socket, head));
  });
}

async function admit(options: UpgradeOptions, request: IncomingMessage): Promise<{ agent: Agent; digest: string }> {
  const inbound = options.readHeaders(request.rawHeaders);
  const match = options.find(parseTarget(request.url ?? "").path);
  const row = match?.entry.byMethod.get("GET")?.row;
  if (!match || row !== options.row) throw new AppError("not_found", "Not found");
  if (options.draining()) throw unavailable(new Error("this gateway is stopping"));
  options.shedder.enter("ingest");
  let owner: string | null = null;
  try {
    const unresolved = `unresolved of ${clientNetwork(options.clientAddress(request.socket.remoteAddress, inbound))}`;
    options.shedder.enterShare("ingest", unresolved, "network");
    owner = unresolved;
    return await admitAgent(options, request, inbound, match.params);
  } finally {
    options.shedder.leave("ingest", owner);
  }
}

async function admitAgent(
  options: UpgradeOptions,
  request: IncomingMessage,
  inbound: Inbound,
  params: Record<string, string | undefined>,
): Promise<{ agent: Agent; digest: string }> {
  const agent = await options.authenticate(inbound, request);
  if (agent.kind === "agent") {
    const counted = await options.agentRates.count(agent.id);
    if (!counted.admitted) {
      throw new AppError("rate_limited", "Rate limit exceeded", { retryAfterSeconds: counted.afterSeconds });
    }
  }
  checkAccess(options.row.access, agent, options.accessRules, options.now);
  if (agent.kind !== "agent" || !options.row.params) throw new Error("a caller other than an agent was admitted");
  checkOwnId(agent, validate(options.row.params, params));
  if (!options.hasLease()) {
    throw unavailable();
  }
  return { agent, digest: agentDigestOf(bearerToken(inbound.authorization) ?? "") };
}

function refuse(socket: Duplex, error: unknown, log: Logger): void {
  if (!(error instanceof AppError || error instanceof EdgeError)) log.error({ err: error }, "agent channel not opened");
  const requestId = uuidv7();
  const { status, body, headers } = errorReply(error, requestId);
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, `X-Request-Id: ${requestId}`];
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  lines.push(`Content-Type: ${jsonType}`, `Content-Length: ${Buffer.byteLength(body)}`, "Connection: close");
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

const ofUpgrade = new Set(["upgrade", "connection", "http2-settings"]);

/** Returns the connection to the HTTP server, with the request but without its upgrade offer. */
function replay(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i] ?? "";
    if (!ofUpgrade.has(name.toLowerCase())) lines.push(`${name}: ${request.rawHeaders[i + 1]}`);
  }
  const bytes = Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]);
  socket.unshift(bytes);
  server.emit("connection", socket);
}
