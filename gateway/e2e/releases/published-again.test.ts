import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { noteKeys } from "@muster/kit";
import type { Api } from "../support/client.ts";
import { newTenant } from "../support/enroller.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { operator } from "../support/users.ts";
import { buildRelease, publish } from "./release-folder.ts";

let cluster: LentCluster;
let root: Api;
beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  root = await operator(cluster);
}, lendMs);
afterAll(() => cluster?.giveBack());

/** Publishes and syncs an agent of these contents; its id and the file for Linux. */
async function published(version: string, content: string): Promise<{ id: string; file: Buffer }> {
  const built = buildRelease("agent", version, { signer: noteKeys(cluster.releaseKey).signer, content });
  await publish(cluster.releases, built);
  const synced = await root.call("POST", `/agent-versions/sync-directory?version=${version}`);
  expect(synced).toMatchObject({ status: 200, body: { version } });
  const { body } = await root.call("GET", "/agent-versions?component=agent&limit=100");
  const found = (body.data as { id: string; version: string }[]).find((each) => each.version === version);
  return { id: String(found?.id), file: built.files["muster-agent-linux-amd64"] as Buffer };
}

describe("a version that is deleted and registered with other bytes", () => {
  it("is at the addresses of its own digests alone, so that no cache has one for the other", async () => {
    const version = "0.3.1-again.1";
    const path = `${cluster.url}/api/v1/agents/download/linux/amd64?version=${version}`;
    const get = async (query: string, headers: Record<string, string> = {}) => {
      const reply = await fetch(`${path}${query}`, { headers });
      const bytes = Buffer.from(await reply.arrayBuffer());
      return {
        status: reply.status,
        bytes,
        caching: reply.headers.get("cache-control"),
        etag: reply.headers.get("etag"),
      };
    };
    const byDigest = (file: Buffer) => get(`&sha256=${createHash("sha256").update(file).digest("hex")}`);
    const first = await published(version, "first");
    expect(await byDigest(first.file)).toMatchObject({
      status: 200,
      bytes: first.file,
      caching: expect.stringMatching(/immutable/),
    });
    const whole = await get("");
    expect(whole).toMatchObject({ status: 200, bytes: first.file, caching: "no-cache" });

    expect((await root.call("DELETE", `/agent-versions/${first.id}`)).status).toBe(200);
    const second = await published(version, "second");
    expect((await byDigest(first.file)).status).toBe(404);
    expect(await byDigest(second.file)).toMatchObject({ status: 200, bytes: second.file });
    expect(await get("", { "if-none-match": String(whole.etag) })).toMatchObject({ status: 200, bytes: second.file });
  });
});

describe("what names nothing that could be offered is refused:", () => {
  it("a pin of a yanked version", async () => {
    const version = "0.3.2-yanked.1";
    const { id } = await published(version, "yanked");
    expect((await root.call("POST", `/agent-versions/${id}/yank`)).status).toBe(200);
    const { orgId } = await newTenant(root);
    const refused = await root.call("PUT", `/orgs/organizations/${orgId}/agent-updates`, { agentTarget: version });
    expect(refused).toMatchObject({
      status: 400,
      body: { details: { fieldErrors: { agentTarget: ["The version was yanked: it is offered to no device"] } } },
    });
  });

  it("an address of this platform as that of a file", async () => {
    const { signer } = noteKeys(cluster.releaseKey);
    const built = buildRelease("watchdog", "0.3.3-own.1", { signer });
    const own = `http://localhost:${new URL(cluster.url).port}/api/v1/agents/download/linux/amd64`;
    const urls = Object.fromEntries(Object.keys(built.files).map((name) => [name, own]));
    const refused = await root.call("POST", "/agent-versions", { manifest: built.manifest, urls });
    const problem = ["Must be a URL outside of this platform"];
    expect(refused).toMatchObject({
      status: 400,
      body: {
        details: {
          fieldErrors: {
            "urls.muster-watchdog-linux-amd64": problem,
            "urls.muster-watchdog-windows-amd64": problem,
          },
        },
      },
    });
  });
});
