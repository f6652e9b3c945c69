import { hasFields } from "../text/fields.ts";

/**
 * A frame of the agent channel, on the agent's connection and between the services alike: one line of JSON, then bytes
 * that no intermediary parses (docs/agent-channel.md).
 */
export type AgentFrame = { head: Readonly<Record<string, unknown>>; body: Uint8Array };

const newline = 10;
const nothing = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Bytes that a head may have. */
const maxHeadBytes = 16 * 1024;

/** Bytes of a frame's body that no sender exceeds. */
export const agentChunkBytes = 256 * 1024;

/** Bytes of a whole answer to a live query; a device that sends more has failed. */
export const agentReplyBytes = 8 * 1024 * 1024;

/** Queries that one device works on at a time. */
export const agentQueriesMax = 4;

export function encodeAgentFrame(head: Record<string, unknown>, body: Uint8Array = nothing): Uint8Array {
  const line = encoder.encode(JSON.stringify(head));
  const frame = new Uint8Array(line.length + (body.length > 0 ? 1 + body.length : 0));
  frame.set(line);
  if (body.length > 0) {
    frame[line.length] = newline;
    frame.set(body, line.length + 1);
  }
  return frame;
}

/** Null when the bytes are no frame. The body is a view of `bytes`. */
export function decodeAgentFrame(bytes: Uint8Array): AgentFrame | null {
  const end = bytes.indexOf(newline);
  const line = end < 0 ? bytes : bytes.subarray(0, end);
  if (line.length > maxHeadBytes) return null;
  try {
    const head: unknown = JSON.parse(decoder.decode(line));
    if (!hasFields(head)) return null;
    return { head, body: end < 0 ? nothing : bytes.subarray(end + 1) };
  } catch {
    return null;
  }
}
