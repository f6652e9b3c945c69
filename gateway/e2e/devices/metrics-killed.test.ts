import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type EnrolledAgent, enrollAgent } from "../support/enrolled-agent.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { enrollTotp, newOrganization, newPartner, signedInAs, type TestUser } from "../support/users.ts";

let cluster: LentCluster;
let admin: TestUser;
let agent: EnrolledAgent;
beforeAll(async () => {
  cluster = await lentCluster("killed");
  const partnerId = await newPartner(cluster);
  const orgId = await newOrganization(cluster, partnerId);
  admin = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  await enrollTotp(admin);
  const { body } = await admin.api.call("POST", "/enrollment-keys", { orgId, name: "Fleet", maxUsage: 1 });
  agent = await enrollAgent(cluster, String(body.key));
}, lendMs);
afterAll(async () => {
  await cluster?.giveBack();
});

/** A heartbeat that tenancy has taken. */
async function report(cpu: number): Promise<void> {
  const sent = async () => (await agent.heartbeat({ metrics: { "cpu.percent": cpu } })).status;
  await until("a heartbeat", async () => (await sent()) === 200, 60_000);
}

/** Ends the process of tenancy; resolves once another one answers. */
async function end(signal: NodeJS.Signals): Promise<void> {
  const pid = (await cluster.stack()).services.tenancy?.pid;
  if (pid) process.kill(pid, signal);
  const isAnother = async () => ![undefined, pid].includes((await cluster.stack()).services.tenancy?.pid);
  await until("another process of tenancy", isAnother, 120_000);
}

/** The least and the most that any step of the last day has; the hour may end meanwhile. */
async function range(): Promise<[number, number] | null> {
  const { status, body } = await admin.api.call("GET", `/devices/${agent.id}/metrics`);
  if (status !== 200) return null;
  const found = (body.data as { cpu: { min: number; max: number } | null }[]).flatMap(({ cpu }) => (cpu ? [cpu] : []));
  if (found.length === 0) return null;
  return [Math.min(...found.map(({ min }) => min)), Math.max(...found.map(({ max }) => max))];
}

describe("the history of metrics", () => {
  it("has what a process held that ended, and lacks only the current hour of one that was killed", async () => {
    await report(20);
    await end("SIGTERM");
    expect(await until("the history", range, 60_000)).toEqual([20, 20]);
    // Less than what stands there: it would show.
    await report(10);
    await end("SIGKILL");
    await report(30);
    await end("SIGTERM");
    const both = async () => {
      const now = await range();
      return now && now[1] === 30 ? now : null;
    };
    expect(await until("the history after the kill", both, 60_000)).toEqual([20, 30]);
  }, 300_000);
});
