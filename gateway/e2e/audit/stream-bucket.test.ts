import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import S3rver from "s3rver";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { enrollTotp, newOrganization, newPartner, newSite, signedInAs } from "../support/users.ts";

const patienceMs = 90_000;
let storage: S3rver;
let directory: string;
let cluster: LentCluster;
beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  directory = await mkdtemp(join(tmpdir(), "muster-s3-"));
  const configureBuckets = [{ name: "siem", configs: [] }];
  storage = new S3rver({ port: cluster.port, address: "127.0.0.1", silent: true, directory, configureBuckets });
  await storage.run();
}, lendMs);
afterAll(async () => {
  await cluster?.giveBack();
  await storage?.close();
  if (directory) await rm(directory, { recursive: true, force: true });
}, 60_000);

type Row = { seq: number; action: string; orgId: string; checksum: string; prevChecksum: string | null };

/** Objects of the bucket by key, as the server keeps them. */
async function objects(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const bucket = join(directory, "siem");
  const suffix = "._S3rver_object";
  for (const entry of await readdir(bucket, { recursive: true })) {
    const name = String(entry);
    if (!name.endsWith(suffix)) continue;
    found.set(name.slice(0, -suffix.length), await readFile(join(bucket, name), "utf8"));
  }
  return found;
}

describe("a stream of audit rows to the operator's bucket", () => {
  it("writes the organization's chain from its start as JSON lines, and goes on with what comes", async () => {
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const user = await signedInAs(cluster, "org-admin", { partnerId, orgId });
    await enrollTotp(user);
    await newSite(cluster, orgId);
    const wanted = { name: "Bucket", type: "archive", from: "start" };
    const created = await user.api.call("POST", "/audit-logs/streams", wanted);
    expect([created.status, created.body]).toEqual([
      201,
      expect.objectContaining({ type: "archive", status: "active" }),
    ]);
    const stream = async () => (await user.api.call("GET", `/audit-logs/streams/${created.body.id}`)).body;
    const prefix = `streams/${orgId}/${created.body.id}/`;
    const batches = async () =>
      [...(await objects())].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
    const rows = async () =>
      (await batches()).flatMap(([, text]) =>
        text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as Row),
      );
    const has = async (action: string) => (await rows()).filter((row) => row.action === action).length;
    await until("the row about its creation", async () => (await has("audit.stream.create")) === 1, patienceMs);
    const before = (await batches()).length;
    await newSite(cluster, orgId);
    await until("a row that came later", async () => (await has("site.create")) === 2, patienceMs);
    await until("the cursor", async () => Number((await stream()).lagRows) === 0, patienceMs);
    expect(await stream()).toMatchObject({ consecutiveFailures: 0, lastError: null });

    const written = await rows();
    expect(written.map(({ seq }) => seq)).toEqual(written.map((_, n) => n + 1));
    expect(written.slice(1).map(({ prevChecksum }) => prevChecksum)).toEqual(
      written.slice(0, -1).map((row) => row.checksum),
    );
    expect(new Set(written.map((row) => row.orgId))).toEqual(new Set([orgId]));
    const keys = (await batches()).map(([key]) => key.slice(prefix.length));
    expect(keys.length).toBeGreaterThan(before);
    for (const key of keys) expect(key).toMatch(/^\d{16}-\d{16}\.jsonl$/);
  }, 240_000);
});
