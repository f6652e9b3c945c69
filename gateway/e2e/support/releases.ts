import { randomUUID } from "node:crypto";
import type { Cluster } from "./cluster.ts";
import { operator } from "./users.ts";

/** A new version of the helper, which no device runs, and a staged rollout of it: to one percent, or as asked. */
export async function newRollout(
  cluster: Cluster,
  wanted: object = { percent: 1 },
): Promise<{ id: string; version: string; versionId: string }> {
  const root = await operator(cluster);
  const made = async (path: string, body: object) => {
    const reply = await root.call("POST", path, body);
    if (reply.status !== 201) throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  // No number with a leading zero, which is no version.
  const version = `0.0.2-r${randomUUID().slice(0, 8)}`;
  const artifact = { os: "linux", arch: "amd64", size: 1, sha256: "0".repeat(64), name: "helper" };
  const manifest = JSON.stringify({ version, component: "helper", artifacts: [artifact] });
  const release = await made("/agent-versions", { manifest, urls: { helper: "https://releases.example.com/helper" } });
  const { id } = await made("/agent-versions/rollouts", { component: "helper", version, ...wanted });
  return { id: String(id), version, versionId: String(release.id) };
}
