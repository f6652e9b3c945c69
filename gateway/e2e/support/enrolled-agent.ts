import { randomUUID } from "node:crypto";
import { api, type Reply } from "./client.ts";
import type { Cluster } from "./cluster.ts";

export type EnrolledAgent = {
  id: string;
  token: string;
  /** Calls as the agent. */
  call(method: string, path: string, body?: unknown, token?: string): Promise<Reply>;
  heartbeat(change?: object): Promise<Reply>;
};

export const machine = (change: object = {}) => ({
  hostname: `host-${randomUUID().slice(0, 8)}`,
  os: "linux",
  arch: "amd64",
  agentVersion: "1.0.0",
  hardwareId: randomUUID(),
  ...change,
});

/** Enrolls an agent over HTTP; throws when that is refused. */
export async function enrollAgent(
  cluster: Cluster,
  enrollmentKey: string,
  change: object = {},
): Promise<EnrolledAgent> {
  const { status, body } = await api(cluster).call("POST", "/agents/enroll", { enrollmentKey, ...machine(change) });
  if (status !== 201) throw new Error(`enrolling answered ${status}: ${JSON.stringify(body)}`);
  return agentWith(cluster, String(body.agentId), String(body.token));
}

export function agentWith(cluster: Cluster, id: string, token: string): EnrolledAgent {
  const call = (method: string, path: string, body?: unknown, by = token) =>
    api(cluster, by).call(method, `/agents/${id}${path}`, body);
  return {
    id,
    token,
    call,
    heartbeat: (change = {}) => call("POST", "/heartbeat", { agentVersion: "1.0.0", ...change }),
  };
}
