import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import pg from "pg";
import type { Api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs, type TestUser } from "../support/users.ts";

type Verdict = { verdict: string; seq: number | null; lastSeq: number | null; rows: number | null };
type Verification = { id: string; orgId: string; status: string; verdicts: Verdict[] };
type Checkpoint = { orgId: string; seq: number; note: string };

const program = fileURLToPath(new URL("../../../deploy/cli/dist/muster-audit.js", import.meta.url));

let cluster: Cluster;
let root: Api;
let orgId: string;
let other: string;
let admin: TestUser;
let directory: string;
let key: string;

beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  directory = await mkdtemp(join(tmpdir(), "muster-proof-"));
  const partnerId = await newPartner(cluster);
  [orgId, other] = [await newOrganization(cluster, partnerId), await newOrganization(cluster, partnerId)];
  for (let n = 0; n < 5; n++) await newSite(cluster, orgId, { name: `Site ${n} ${randomUUID()}` });
  await newSite(cluster, other);
  admin = await signedInAs(cluster, "org-admin", { orgId });
  await until("a checkpoint of the chain", async () => (await checkpoints(admin.api)).length > 0, 60_000);
}, 240_000);

afterAll(async () => {
  if (directory) await rm(directory, { recursive: true, force: true });
});

async function checkpoints(by: Api, query = ""): Promise<Checkpoint[]> {
  const { status, body } = await by.call("GET", `/audit-logs/checkpoints${query}`);
  if (status !== 200) throw new Error(`checkpoints answered ${status} ${JSON.stringify(body)}`);
  [key = ""] = body.keys as string[];
  return body.data as Checkpoint[];
}

async function verified(by: Api, body: object): Promise<Verification> {
  const started = await by.call("POST", "/audit-logs/verify", body);
  expect([started.status, started.body.status]).toEqual([202, "queued"]);
  return until(
    "the verification",
    async () => {
      const { body: found } = await by.call("GET", `/audit-logs/verify/${started.body.id}`);
      return found.status === "done" ? (found as unknown as Verification) : null;
    },
    60_000,
  );
}

describe("POST /audit-logs/verify", () => {
  it("verifies the chain of an organization, and leaves an audit row about that", async () => {
    const done = await verified(admin.api, { orgId });
    expect(done.verdicts[0]).toMatchObject({ verdict: "OK", seq: 1 });
    expect(done.verdicts[0]?.rows).toBeGreaterThanOrEqual(6);
    const row = await until("the audit row", async () => {
      const { body } = await admin.api.call("GET", "/audit-logs/logs?action=data.access");
      const rows = body.data as { resource: { id: string; type: string }; user: { email: string } }[];
      return rows.find(({ resource }) => resource.id === done.id);
    });
    expect([row.resource.type, row.user.email]).toEqual(["audit_verification", admin.email]);
  });

  it("verifies without an organization what is the caller's own: organization, partner, platform", async () => {
    expect((await verified(admin.api, {})).orgId).toBe(orgId);
    const platform = await verified(root, {});
    expect([platform.orgId, platform.verdicts[0]?.verdict]).toEqual([null, "OK"]);
  });

  it.each([
    ["an altered row", "actor_name = 'Nobody'", { verdict: "ALTERED", seq: 1, format: null }],
    ["a row of an unknown format", "format = 99", { verdict: "UNKNOWN_FORMAT", seq: 1, format: 99 }],
  ])("reports %s among others, and then no OK", async (_name, change, wanted) => {
    await verified(root, { orgId: other });
    await asSuperuserOfAudit(async (client) => {
      const { rows } = await client.query<{ part: string }>(
        "SELECT tableoid::regclass::text AS part FROM audit.audit_log WHERE chain_id = $1 AND seq = 1",
        [other],
      );
      const part = rows[0]?.part.replace(/^(audit\.)?/, "audit.");
      await client.query(`ALTER TABLE ${part} DISABLE TRIGGER append_only`);
      await client.query(`UPDATE audit.audit_log SET ${change} WHERE chain_id = $1 AND seq = 1`, [other]);
      await client.query(`ALTER TABLE ${part} ENABLE ALWAYS TRIGGER append_only`);
    });
    const done = await verified(root, { orgId: other });
    expect(done.verdicts).toContainEqual(expect.objectContaining(wanted));
    expect(done.verdicts.map(({ verdict }) => verdict)).not.toContain("OK");
  });

  it("refuses other organizations, other people's verifications and what is no row number", async () => {
    const outside = await admin.api.call("POST", "/audit-logs/verify", { orgId: other });
    expect([outside.status, outside.body.code]).toEqual([404, "organization_not_found"]);
    const theirs = await verified(root, { orgId: other });
    const read = await admin.api.call("GET", `/audit-logs/verify/${theirs.id}`);
    expect([read.status, read.body.code]).toEqual([404, "audit_verification_not_found"]);
    const missing = await admin.api.call("GET", `/audit-logs/verify/${randomUUID()}`);
    expect(missing.status).toBe(404);
    const listed = async (by: Api, query = "") =>
      ((await by.call("GET", `/audit-logs/verify${query}`)).body.data as { id: string }[]).map(({ id }) => id);
    expect(await listed(root, `?orgId=${other}&status=done`)).toContain(theirs.id);
    expect(await listed(admin.api)).not.toContain(theirs.id);
    const elsewhere = await admin.api.call("GET", `/audit-logs/verify?orgId=${other}`);
    expect([elsewhere.status, elsewhere.body.code]).toEqual([404, "organization_not_found"]);
    for (const from of [0, -1, 1.5, "1"]) {
      expect((await admin.api.call("POST", "/audit-logs/verify", { orgId, from })).status).toBe(400);
    }
  });

  /** The owner's connection, for changes that the owner can make and must not. */
  async function asSuperuserOfAudit(use: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
    await client.connect();
    try {
      await use(client);
    } finally {
      await client.end();
    }
  }
});

describe("GET /audit-logs/checkpoints", () => {
  it("shows signed notes of the caller's chains, newest first, page by page", async () => {
    const own = await checkpoints(admin.api);
    expect(own.every((each) => each.orgId === orgId)).toBe(true);
    expect(own[0]?.note).toMatch(
      new RegExp(`^muster.local/audit/${orgId}\n\\d+\n[0-9a-f]{64}\n.*\n\n— muster-audit-`, "u"),
    );
    expect(key).toMatch(/^muster-audit-[0-9a-f]{6}\+[0-9a-f]{8}\+/);
    const first = await root.call("GET", "/audit-logs/checkpoints?limit=1");
    const pages = first.body.pagination as { total: number; nextCursor: string };
    expect(pages.total).toBeGreaterThan(1);
    const next = await checkpoints(root, `?limit=1&cursor=${pages.nextCursor}`);
    expect(next).toHaveLength(1);
    expect(next[0]?.note).not.toBe((first.body.data as Checkpoint[])[0]?.note);
    expect(first.body.anchor === null || typeof first.body.anchor === "object").toBe(true);
    expect((await admin.api.call("GET", "/audit-logs/checkpoints")).body.anchor).toBeNull();
  });

  it("refuses another organization", async () => {
    const reply = await admin.api.call("GET", `/audit-logs/checkpoints?orgId=${other}`);
    expect([reply.status, reply.body.code]).toEqual([404, "organization_not_found"]);
  });
});

describe("muster-audit verify", () => {
  async function exported(): Promise<string> {
    const reply = await fetch(`${cluster.url}/api/v1/audit-logs/export?format=jsonl`, {
      headers: { authorization: `Bearer ${admin.accessToken}` },
    });
    expect(reply.status).toBe(200);
    return reply.text();
  }

  const run = (file: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, "verify", file, ...args], {
      encoding: "utf8",
    });
    return { status, output: stdout + stderr };
  };

  it("verifies an export offline, and reports modifications", async () => {
    const text = await exported();
    const [clean, changed, cut] = ["clean", "changed", "cut"].map((name) => join(directory, `${name}.jsonl`)) as [
      string,
      string,
      string,
    ];
    await writeFile(clean, text);
    const good = run(clean, "--key", key, "--deployment", "muster.local");
    expect(good).toEqual({ status: 0, output: expect.stringMatching(/\bOK rows 1-\d+[\s\S]*\nOK\n$/) });
    expect(run(clean).output).toContain("taken from the file itself");

    await writeFile(changed, text.replace("site.create", "site.creatE"));
    expect(run(changed, "--key", key)).toEqual({
      status: 1,
      output: expect.stringMatching(/ALTERED row \d+[\s\S]*NOT OK\n$/),
    });
    const lines = text.split("\n");
    await writeFile(cut, [...lines.slice(0, 2), ...lines.slice(3)].join("\n"));
    expect(run(cut, "--key", key)).toEqual({ status: 1, output: expect.stringContaining("DELETED row") });
    const foreign = "other+6b5d1a3c+AVWxmqmPj2EOPwwvM5A4u8WFgDZBL+DXzXEXZLpgzoSV";
    expect(run(clean, "--key", foreign).status).not.toBe(0);
    expect(run(join(directory, "missing.jsonl")).status).toBe(2);
    expect(run(clean, "--nonsense").status).toBe(2);
  });
});
