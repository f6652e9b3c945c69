import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { Logger } from "@muster/kit";
import { maxTimeoutMs, type PortLimits } from "../protocol/limits.ts";
import type { Routes } from "./registration.ts";

export type StockPath = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

/**
 * Serves every protocol and encoding of connect-node (Connect, gRPC, gRPC-Web; unary and streams; HTTP/1.1 and HTTP/2).
 * The same as its connectNodeAdapter, which would write failed answers to the console instead of the log.
 */
export function createStockPath(routes: Routes, limits: PortLimits, log: Logger): StockPath {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
    readMaxBytes: limits.maxBodyBytes,
    compressMinBytes: limits.compressMinBytes,
    maxTimeoutMs,
  });
  routes.addTo(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  return (request, response) => {
    const handler = handlers.get(request.url?.split("?", 1)[0] ?? "");
    if (!handler) {
      response.writeHead(404);
      response.end();
      return;
    }
    // Throws when the request names no host (HTTP/1.0).
    const answer = async () => {
      await universalResponseToNodeResponse(
        await handler(universalRequestFromNodeRequest(request, response, undefined, undefined)),
        response,
      );
    };
    answer().catch((err: unknown) => {
      const { destroyed } = "stream" in response ? response.stream : response;
      const gone = destroyed || ConnectError.from(err).code === Code.Aborted;
      if (gone) log.debug({ err, rpc: handler.requestPath.slice(1) }, "rpc client went before its answer");
      else {
        log.error({ err, rpc: handler.requestPath.slice(1) }, "rpc answer failed");
        response.destroy();
      }
    });
  };
}
