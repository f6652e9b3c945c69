import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { systemCaller } from "@muster/kit";
import type { RunningStack } from "@muster/local";
import type { DeviceFacts } from "@muster/proto/muster/common/v1/device_pb";
import { type DeviceAnswer, UpdateService } from "@muster/proto/muster/release/v1/update_pb";
import { PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { callOptions, createSigner, createTransport } from "@muster/rpc";

export type UpdateReport = { component: string; version: string; state: string; error: string };
export type Heartbeat = {
  deviceId: string;
  orgId: string;
  agentVersion: string;
  report: UpdateReport | null;
  knownVersion: bigint;
};
/** The result of a heartbeat: facts of the device when its row has changed, and the decision of agent-release. */
export type HeartbeatReply = { status: string; facts: DeviceFacts | null; answer: DeviceAnswer | null };

const timeoutMs = 30_000;

/** Calls tenancy and agent-release of a cluster as its gateway does, without HTTP. */
export function asGateway({ stack, dataDir }: RunningStack) {
  const secrets = JSON.parse(readFileSync(join(dataDir, "keys", "secrets.json"), "utf8")) as {
    callers: Record<string, { privateKey: string }>;
  };
  const signer = createSigner({ issuer: "gateway", privateKeys: secrets.callers.gateway?.privateKey ?? "" });
  const to = (service: "tenancy" | "agent-release") =>
    createTransport({ baseUrls: [stack.services[service]?.rpc ?? ""], callers: { service, signer }, connections: 4 });
  const [tenancy, release] = [to("tenancy"), to("agent-release")];
  const presence = createClient(PresenceService, tenancy);
  const updates = createClient(UpdateService, release);
  const caller = systemCaller("gateway");
  const call = () =>
    callOptions({
      caller,
      meta: { requestId: randomUUID(), clientAddress: null, userAgent: null, traceparent: null },
      deadlineMs: performance.now() + timeoutMs,
    });
  const decide = async (devices: readonly { device: DeviceFacts; report?: UpdateReport }[]) =>
    (await updates.decide({ devices: [...devices] }, await call())).answers;

  return {
    decide,
    /**
     * Sends a batch of heartbeats: tenancy records them, and agent-release decides about devices that may have changed.
     */
    async heartbeats(batch: readonly Heartbeat[]): Promise<HeartbeatReply[]> {
      const sent = batch.map(({ report, ...heartbeat }) => ({
        ...heartbeat,
        updateEnded: report !== null && ["locked", "failed", "rolled_back"].includes(report.state),
      }));
      const { results } = await presence.recordHeartbeats({ heartbeats: sent }, await call());
      const questions = results.flatMap(({ facts }, at) => {
        const report = batch[at]?.report;
        return facts ? [{ at, device: facts, ...(report ? { report } : {}) }] : [];
      });
      const answers = questions.length > 0 ? await decide(questions.map(({ at: _, ...question }) => question)) : [];
      const byIndex = new Map(questions.map(({ at }, n) => [at, answers[n] ?? null]));
      return results.map(({ status, facts }, at) => ({
        status,
        facts: facts ?? null,
        answer: byIndex.get(at) ?? null,
      }));
    },
    async close() {
      await Promise.all([tenancy.close(), release.close()]);
    },
  };
}
