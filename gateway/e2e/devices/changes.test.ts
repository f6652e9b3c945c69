import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { linesOf } from "@muster/client";
import { until } from "@muster/testing";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { enrollAgent } from "../support/enrolled-agent.ts";
import { enroller } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { enrolledAs } from "../support/tenant-with-admins.ts";
import { newOrganization, newPartner, newSite, signedInAs } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let enroll: Awaited<ReturnType<typeof enroller>>;
const open: AbortController[] = [];

beforeAll(async () => {
  cluster = await sharedCluster();
  root = api(cluster, (await signIn(cluster)).accessToken);
  enroll = await enroller(cluster);
}, 300_000);
afterAll(() => {
  for (const each of open) each.abort();
});

type Line = { kind: string; change?: string; id?: string; status?: string };
type Watched = { lines: Line[]; ended: Promise<void>; changes(): string[]; reply: Response };

/** A stream of changes, once it has reported that it is current. */
async function watch(headers: Record<string, string>, query = ""): Promise<Watched> {
  const leaving = new AbortController();
  open.push(leaving);
  const reply = await fetch(`${cluster.url}/api/v1/devices/changes${query}`, { headers, signal: leaving.signal });
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/x-ndjson; charset=utf-8"]);
  const lines: Line[] = [];
  const ended = (async () => {
    for await (const line of linesOf<Line>(reply.body)) lines.push(line);
  })();
  ended.catch(() => undefined);
  await until("the stream to be current", () => lines.some(({ kind }) => kind === "current"));
  const changes = () => lines.filter(({ kind }) => kind === "device").map(({ change, id }) => `${change} ${id}`);
  return { lines, ended, changes, reply };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("the stream of changes of devices", () => {
  it("reports to each user the changes in their access scope, and no others", async () => {
    const partnerId = await newPartner(cluster);
    const [orgId, sibling] = [await newOrganization(cluster, partnerId), await newOrganization(cluster, partnerId)];
    const otherOrgId = await newOrganization(cluster, await newPartner(cluster));
    const [siteId, otherSite] = [await newSite(cluster, orgId), await newSite(cluster, orgId)];
    const watchers = {
      viewer: await signedInAs(cluster, "org-viewer", { orgId }),
      ofSite: await signedInAs(cluster, "org-admin", { orgId, siteIds: [siteId] }),
      ofList: await signedInAs(cluster, "partner-technician", { partnerId, orgAccess: "selected", orgIds: [sibling] }),
      ofPartner: await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" }),
      ofOtherPartner: await signedInAs(cluster, "org-admin", { orgId: otherOrgId }),
    };
    const streams = Object.fromEntries(
      await Promise.all(
        Object.entries(watchers).map(
          async ([name, { accessToken }]) => [name, await watch(bearer(accessToken))] as const,
        ),
      ),
    ) as Record<keyof typeof watchers, Watched>;
    const narrowed = await watch(bearer(watchers.ofPartner.accessToken), `?orgId=${sibling}`);
    const here = await enroll(orgId, { siteId, hostname: "here" });
    const elsewhere = await enroll(orgId, { siteId: otherSite, hostname: "elsewhere" });
    const beside = await enroll(sibling, { hostname: "beside" });
    const away = await enroll(otherOrgId, { hostname: "away" });
    const made = (...ids: string[]) => ids.map((id) => `created ${id}`);
    const received = (watched: Watched) => watched.changes().filter((line) => line.startsWith("created"));
    const wanted = [
      [streams.ofPartner, made(here, elsewhere, beside)],
      [streams.viewer, made(here, elsewhere)],
      [streams.ofSite, made(here)],
      [streams.ofList, made(beside)],
      [streams.ofOtherPartner, made(away)],
      [narrowed, made(beside)],
    ] as const;
    await until("each change to be reported", () =>
      wanted.every(([watched, lines]) => received(watched).length >= lines.length),
    );
    for (const [watched, lines] of wanted) expect(received(watched)).toEqual(lines);
    expect(narrowed.changes()).toEqual(made(beside));
    expect(streams.viewer.lines[1]).toEqual({
      kind: "device",
      change: "created",
      id: here,
      orgId,
      siteId,
      status: expect.any(String),
    });
    await root.call("DELETE", `/devices/${here}`);
    await until("the decommissioning", () => streams.ofSite.changes().includes(`decommissioned ${here}`));
  });

  it("ends for a session that is revoked, a person whose rights change, and a key that is revoked", async () => {
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const [first, second] = [
      await signedInAs(cluster, "org-viewer", { orgId }),
      await signedInAs(cluster, "org-viewer", { orgId }),
    ];
    const made = await admin.api.call("POST", "/api-keys", { orgId, name: "Watcher", scopes: ["devices:read"] });
    const streams = [
      await watch(bearer(first.accessToken)),
      await watch(bearer(second.accessToken)),
      await watch({ "x-api-key": String(made.body.key) }),
    ];
    expect((await first.api.call("POST", "/auth/logout")).status).toBe(200);
    const siteId = await newSite(cluster, orgId);
    expect((await admin.api.call("PATCH", `/users/${second.id}`, { siteIds: [siteId] })).status).toBe(200);
    expect((await admin.api.call("DELETE", `/api-keys/${made.body.id}`)).status).toBe(200);
    // Ended in order, not cut: an entitled client requests again.
    await Promise.all(streams.map(({ ended }) => ended));
    await enroll(orgId, { hostname: "afterwards" });
    expect(streams.flatMap(({ changes }) => changes())).toEqual([]);
  });

  it("is refused to callers who may not read devices there, with the error of the list", async () => {
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const other = await newOrganization(cluster, await newPartner(cluster));
    const user = await signedInAs(cluster, "org-viewer", { orgId });
    const answer = async (query: string, headers: Record<string, string> = bearer(user.accessToken)) => {
      const reply = await fetch(`${cluster.url}/api/v1/devices/changes?${query}`, { headers });
      const text = await reply.text();
      return [reply.status, text.startsWith("{") ? JSON.parse(text).code : text];
    };
    expect(await answer("seconds=0")).toEqual([200, ""]);
    expect(await answer(`seconds=0&orgId=${other}`)).toEqual([404, "organization_not_found"]);
    expect(await answer("seconds=281")).toEqual([400, "validation_failed"]);
    expect(await answer("seconds=-1")).toEqual([400, "validation_failed"]);
    expect(await answer("", {})).toEqual([401, "unauthenticated"]);
  });

  it("reports a device that comes online within two seconds", async () => {
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const { body } = await admin.api.call("POST", "/enrollment-keys", { orgId, name: "one" });
    const agent = await enrollAgent(cluster, String(body.key), { hostname: "waking" });
    const stream = await watch(bearer(admin.accessToken), `?orgId=${orgId}`);
    const startedMs = performance.now();
    await agent.heartbeat();
    await until("the heartbeat to be reported", () => stream.lines.some(({ status }) => status === "online"));
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});
