import { readFile } from "node:fs/promises";
import { request as plain } from "node:http";
import { request as secured } from "node:https";
import { json } from "node:stream/consumers";
import type { StackFile } from "./cluster.ts";

export type RpcReply = { status: number; body: Record<string, unknown> };

/** A unary Connect call as any HTTP client makes it; with the gateway's certificate where the cluster has TLS. */
export async function rpcCall(
  stack: StackFile,
  service: string,
  method: string,
  body: object,
  token?: string,
): Promise<RpcReply> {
  const { rpc } = stack.services[service] as { rpc: string };
  const text = JSON.stringify(body);
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...(token ? { "muster-caller": token } : {}),
  };
  const files = stack.tls
    ? {
        ca: await readFile(stack.tls.ca),
        cert: await readFile(stack.tls.cert),
        key: await readFile(stack.tls.key),
      }
    : {};
  return new Promise((resolve, reject) => {
    const send = stack.tls ? secured : plain;
    const sent = send(`${rpc}/${method}`, { method: "POST", headers, agent: false, ...files }, (reply) => {
      json(reply).then(
        (answer) => resolve({ status: reply.statusCode ?? 0, body: answer as RpcReply["body"] }),
        reject,
      );
    });
    sent.once("error", reject);
    sent.end(text);
  });
}
