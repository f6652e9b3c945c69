import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Channel, openChannel, syntheticEventStore } from "@muster/agent-sim";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import { api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { newTenant } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { operator } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let channel: Channel | undefined;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
}, 180_000);
afterAll(() => channel?.stop());

describe("a new user", () => {
  it("enrolls a device, sees it online, and reads its diagnostic, stored and live event logs", async () => {
    const { orgId, siteId } = await newTenant(root);
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const made = await until("identity to know the organization", async () => {
      const reply = await root.call("POST", "/enrollment-keys", { orgId, siteId, name: "First", expiresAt });
      return reply.status === 201 ? reply : null;
    });
    const machine = {
      hostname: "WS-042",
      os: "windows",
      arch: "amd64",
      agentVersion: "1.0.0",
      hardwareId: randomUUID(),
    };
    const enrolled = await api(cluster).call("POST", "/agents/enroll", { enrollmentKey: made.body.key, ...machine });
    expect(enrolled.status).toBe(201);
    const { agentId, token } = enrolled.body as { agentId: string; token: string };
    expect(enrolled.body).toMatchObject({ deviceId: agentId, orgId, siteId });
    const agent = api(cluster, token);

    const beat = await agent.call("POST", `/agents/${agentId}/heartbeat`, { agentVersion: "1.0.0" });
    expect(beat.status).toBe(200);
    await until("the device to be online", async () => {
      const { body } = await root.call("GET", `/devices/${agentId}`);
      return body.status === "online";
    });

    const lines = ["info", "warn", "error"].map((level, i) => ({
      timestamp: `2026-03-0${i + 1}T00:00:00.000Z`,
      level,
      component: "updater",
      message: `Update step ${i}`,
    }));
    expect((await agent.call("POST", `/agents/${agentId}/logs`, { logs: lines })).status).toBe(201);
    const messages = async (query: string) =>
      ((await root.call("GET", `/devices/${agentId}/diagnostic-logs?${query}`)).body.data as { message: string }[]).map(
        ({ message }) => message,
      );
    expect(await messages("level=warn,error&component=updater")).toEqual(["Update step 2", "Update step 1"]);
    expect(await messages("since=2026-03-02&until=2026-03-02T12:00:00Z&search=STEP")).toEqual(["Update step 1"]);

    const events = [
      { timestamp: "2026-03-01T00:00:00Z", level: "error", source: "disk", eventId: "51", message: "paging" },
    ];
    expect((await agent.call("PUT", `/agents/${agentId}/eventlogs`, { events })).body).toEqual({
      success: true,
      count: 1,
    });
    const stored = await root.call("GET", `/devices/${agentId}/eventlogs?level=error`);
    expect(stored.body.data).toMatchObject([{ source: "disk", eventId: "51", category: "system" }]);

    const store = syntheticEventStore({ os: "windows", hostname: "WS-042", records: 300 });
    channel = openChannel({ baseUrl: () => cluster.url, agentId, token: () => token, store, retryMs: 200 });
    await until("the channel", () => channel?.connected);
    const live = `/system-tools/devices/${agentId}/eventlogs`;
    expect((await root.call("GET", live)).body.data).toEqual(store.logs());
    const powershell = `${live}/${encodeURIComponent("Microsoft-Windows-PowerShell/Operational")}`;
    expect((await root.call("GET", powershell)).body).toMatchObject({ recordCount: 300 });
    const page = await root.call("GET", `${powershell}/events?page=2&limit=10&level=information`);
    expect(page.body.pagination).toMatchObject({ page: 2, limit: 10, total: 150 });
    const [entry] = page.body.data as { recordId: number }[];
    expect((await root.call("GET", `${powershell}/events/${entry?.recordId}`)).body).toEqual(entry);
  });
});
