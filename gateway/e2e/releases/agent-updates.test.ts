import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { generateNoteKey, type NoteSigner, noteKeys, signNote } from "@muster/kit";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import { enrollAgent } from "../support/enrolled-agent.ts";
import { auditedActions, newTenant, type Tenant } from "../support/enroller.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { enrollTotp, operator, signedInAs } from "../support/users.ts";
import { buildRelease, publish } from "./release-folder.ts";

let cluster: LentCluster;
let folder: string;
let signer: NoteSigner;
let root: Api;
beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  folder = cluster.releases;
  ({ signer } = noteKeys(cluster.releaseKey));
  root = await operator(cluster);
}, lendMs);
afterAll(() => cluster?.giveBack());

const sync = (version?: string) =>
  root.call("POST", `/agent-versions/sync-directory${version === undefined ? "" : `?version=${version}`}`);

/** Publishes agent (and more) of a version and syncs it, which promotes it. */
async function release(version: string, ...components: string[]): Promise<void> {
  const named = components.length > 0 ? components : ["agent"];
  await publish(folder, ...named.map((component) => buildRelease(component, version, { signer })));
  expect(await sync(version)).toMatchObject({ status: 200, body: { version } });
}

async function agentIn({ orgId, siteId }: Tenant, change: object = {}) {
  const { body } = await root.call("POST", "/enrollment-keys", { orgId, siteId, name: "Key", maxUsage: 100 });
  return enrollAgent(cluster, String(body.key), { agentVersion: "1.0.0", ...change });
}
const deviceOf = async (id: string) => (await root.call("GET", `/devices/${id}`)).body;

describe("a release", () => {
  it("is published, synced, promoted and offered, and the device is updating until it runs it", async () => {
    const agent = await agentIn(await newTenant(root));
    expect((await agent.heartbeat()).body).toMatchObject({ status: "online", upgradeTo: null, updates: [] });
    await publish(folder, buildRelease("agent", "1.1.0", { signer }));
    const synced = await sync();
    expect([synced.status, synced.body]).toEqual([
      200,
      { version: "1.1.0", synced: ["agent:linux/amd64", "agent:windows/amd64"], skipped: [] },
    ]);
    const offered = await agent.heartbeat();
    expect(offered.body).toMatchObject({ status: "updating", upgradeTo: "1.1.0", watchdogUpgradeTo: null });
    expect(await deviceOf(agent.id)).toMatchObject({ status: "updating", agentVersion: "1.0.0" });
    const again = await agent.heartbeat();
    expect(again.body.updates).toEqual(offered.body.updates);
    const returned = await agent.heartbeat({ agentVersion: "1.1.0" });
    expect(returned.body).toMatchObject({ status: "online", upgradeTo: null, updates: [] });
    expect(await deviceOf(agent.id)).toMatchObject({ status: "online", agentVersion: "1.1.0" });
    const decision = await root.call("GET", `/devices/${agent.id}/update-decision`);
    expect(decision.body).toMatchObject({
      components: [
        { component: "agent", current: "1.1.0", rule: "up_to_date" },
        { component: "watchdog", rule: "not_reported" },
        { component: "helper", rule: "not_reported" },
      ],
      attempts: [{ version: "1.1.0", fromVersion: "1.0.0", state: "returned" }],
    });
  }, 60_000);

  it("synced again answers the same and changes nothing", async () => {
    const before = await root.call("GET", "/agent-versions");
    const { status, body } = await sync("1.1.0");
    expect([status, body]).toEqual([
      200,
      { version: "1.1.0", synced: ["agent:linux/amd64", "agent:windows/amd64"], skipped: [] },
    ]);
    expect((await root.call("GET", "/agent-versions")).body).toEqual(before.body);
  });

  it("with an older version never demotes the fleet; a promotion by name does", async () => {
    await release("1.0.5");
    const targets = async () => (await root.call("GET", "/agent-versions")).body.targets;
    expect(await targets()).toMatchObject({ agent: "1.1.0" });
    const down = await root.call("POST", "/agent-versions/promote", { version: "v1.0.5" });
    expect([down.status, down.body]).toMatchObject([
      200,
      { version: "1.0.5", component: "agent", previousVersion: "1.1.0" },
    ]);
    expect(await targets()).toMatchObject({ agent: "1.0.5" });
    await root.call("POST", "/agent-versions/promote", { version: "1.1.0", component: "agent" });
    expect(await targets()).toMatchObject({ agent: "1.1.0" });
    const id = ((await root.call("GET", "/agent-versions")).body.data as { id: string; version: string }[]).find(
      ({ version }) => version === "1.0.5",
    )?.id;
    await until("the audit rows", async () => {
      const actions = await auditedActions(root, "agent_version.", String(id));
      return actions.includes("agent_version.sync") && actions.includes("agent_version.promote");
    });
  });

  it("registers nothing without the signature of a trusted key, or with another file", async () => {
    const untrusted = noteKeys(generateNoteKey("releases.example.test")).signer;
    await publish(folder, buildRelease("agent", "9.0.0", { signer: untrusted }));
    expect(await sync("9.0.0")).toMatchObject({ status: 400, body: { code: "release_untrusted" } });
    const cut = buildRelease("agent", "9.1.0", { signer });
    cut.files["muster-agent-linux-amd64"] = Buffer.from("short");
    await publish(folder, cut);
    expect(await sync("9.1.0")).toMatchObject({
      status: 502,
      body: { code: "release_sync_failed", failed: [{ asset: "muster-agent-linux-amd64", reason: "wrong size" }] },
    });
    expect(await sync("9.9.9")).toMatchObject({ status: 404, body: { code: "agent_version_not_found" } });
    expect(await root.call("POST", "/agent-versions/sync-github")).toMatchObject({
      status: 404,
      body: { code: "release_source_not_found" },
    });
  });
});

describe("a release that is registered by its manifest alone", () => {
  const next = noteKeys(generateNoteKey("next.example.test")).signer;
  /** A root note with the old and the next key, signed by the keys `by`. */
  const rootNote = (...by: (typeof signer)[]) => {
    const line = `${JSON.stringify({ root: 2, keys: [signer.text, next.text] })}\n`;
    return `${line}\n${by.map((key) => signNote(line, key).split("\n\n")[1]).join("")}`;
  };
  const register = (built: ReturnType<typeof buildRelease>, more: object = {}) => {
    const urls = Object.fromEntries(Object.keys(built.files).map((name) => [name, `https://r.example.test/${name}`]));
    return root.call("POST", "/agent-versions", { manifest: built.manifest, urls, ...more });
  };

  it("brings new keys along in a root note of old and new ones, and from then on they count", async () => {
    const first = buildRelease("watchdog", "0.1.0", { signer: next });
    expect(await register(first)).toMatchObject({ status: 400, body: { code: "release_untrusted" } });
    // Neither the new key by itself nor a text that is no note exchanges anything.
    for (const note of [rootNote(next), "keys, please"]) {
      const refused = await register(first, { rootNote: note });
      expect([refused.status, refused.body.code]).toEqual([
        400,
        expect.stringMatching(/^(release_untrusted|validation_error)$/),
      ]);
    }
    expect(await register(first)).toMatchObject({ status: 400, body: { code: "release_untrusted" } });
    const taken = await register(first, { rootNote: rootNote(signer, next) });
    expect([taken.status, taken.body]).toMatchObject([201, { component: "watchdog", version: "0.1.0", signed: true }]);
    await until("the audit row", async () =>
      (await auditedActions(root, "agent_version.keys.", "00000000-0000-0000-0000-000000000000")).includes(
        "agent_version.keys.exchange",
      ),
    );
    // Both keys are of the new root: what either signs is taken, a note that is known changes nothing.
    const again = { rootNote: rootNote(signer, next) };
    for (const [version, by] of [
      ["0.2.0", next],
      ["0.3.0", signer],
    ] as const) {
      expect(await register(buildRelease("watchdog", version, { signer: by }), again)).toMatchObject({ status: 201 });
    }
    // Every signed offer carries the note of the exchange to the agents.
    const agent = await agentIn(await newTenant(root));
    const { updates } = (await agent.heartbeat()).body as { updates: { rootNotes: string[] }[] };
    expect(updates[0]?.rootNotes).toEqual([rootNote(signer, next)]);
  });

  it("has an https address for each of its files, and is registered once", async () => {
    const built = buildRelease("watchdog", "0.4.0", { signer });
    const urls = { "muster-watchdog-linux-amd64": "http://r.example.test/plain" };
    expect(await register(built, { urls })).toMatchObject({
      status: 400,
      body: {
        details: {
          fieldErrors: {
            "urls.muster-watchdog-linux-amd64": ["Must be an https URL"],
            "urls.muster-watchdog-windows-amd64": ["Required"],
          },
        },
      },
    });
    expect((await register(built)).status).toBe(201);
    expect(await register(built)).toMatchObject({ status: 409, body: { code: "release_exists" } });
  });
});

describe("a download", () => {
  const path = "/api/v1/agents/download/linux/amd64?component=agent&version=1.1.0";
  const get = (headers: Record<string, string> = {}, method = "GET", at = path) =>
    fetch(`${cluster.url}${at}`, { method, headers, redirect: "manual" });
  const bytes = () => buildRelease("agent", "1.1.0").files["muster-agent-linux-amd64"] as Buffer;

  it("is the file of the manifest, whole or in one range, without a credential", async () => {
    const whole = await get();
    expect([whole.status, Buffer.from(await whole.arrayBuffer())]).toEqual([200, bytes()]);
    const etag = String(whole.headers.get("etag"));
    expect(whole.headers.get("cache-control")).toBe("no-cache");
    const digest = createHash("sha256").update(bytes()).digest("hex");
    const byDigest = await get({}, "HEAD", `${path}&sha256=${digest}`);
    expect([byDigest.status, byDigest.headers.get("cache-control")]).toEqual([200, expect.stringMatching(/immutable/)]);
    expect((await get({}, "HEAD", `${path}&sha256=${"0".repeat(64)}`)).status).toBe(404);
    const part = await get({ range: "bytes=5-14" });
    expect([part.status, await part.text(), part.headers.get("content-range")]).toEqual([
      206,
      bytes().subarray(5, 15).toString(),
      `bytes 5-14/${bytes().length}`,
    ]);
    expect((await get({ range: "bytes=5-14", "if-range": '"other"' })).status).toBe(200);
    expect((await get({ range: "bytes=999999-" })).status).toBe(416);
    expect((await get({ "if-none-match": etag })).status).toBe(304);
    for (const [condition, status] of [
      ['"other"', 412],
      [etag, 200],
      ["*", 200],
    ] as const) {
      const reply = await get({ "if-match": condition });
      await reply.arrayBuffer();
      expect([condition, reply.status]).toEqual([condition, status]);
    }
    expect((await get({ "if-match": '"other"', "if-none-match": etag }, "HEAD")).status).toBe(412);
    const head = await get({ range: "bytes=5-14" }, "HEAD");
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([
      200,
      String(bytes().length),
      "",
    ]);
    const { data } = (await root.call("GET", "/agents/downloads")).body as {
      data: { os: string; arch: string; url: string; sizeBytes: number; sha256: string }[];
    };
    expect(data.map(({ os, arch }) => `${os}/${arch}`).sort()).toEqual(["linux/amd64", "windows/amd64"]);
    for (const { url, sizeBytes, sha256 } of data) {
      const file = await get({}, "GET", `${new URL(url).pathname}${new URL(url).search}`);
      const received = Buffer.from(await file.arrayBuffer());
      expect([received.length, createHash("sha256").update(received).digest("hex")]).toEqual([sizeBytes, sha256]);
    }
    const promoted = await get({}, "GET", "/api/v1/agents/download/linux/amd64");
    expect([promoted.status, promoted.headers.get("cache-control")]).toEqual([200, "no-cache"]);
    await promoted.arrayBuffer();
  });

  it("has a manifest, the same for everyone, which names the file of the same address", async () => {
    const at = "/api/v1/agents/download/linux/amd64/manifest";
    const reply = await get({}, "GET", at);
    const note = await reply.text();
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([200, "no-cache"]);
    expect(note).toBe(await (await get({}, "GET", `${at}?component=agent&version=1.1.0`)).text());
    const sha256 = createHash("sha256").update(bytes()).digest("hex");
    const { artifacts } = JSON.parse(note.split("\n")[0] ?? "") as { artifacts: { sha256: string }[] };
    expect(artifacts.map((each) => each.sha256)).toContain(sha256);
    const etag = String(reply.headers.get("etag"));
    expect((await get({ "if-none-match": etag }, "GET", at)).status).toBe(304);
    for (const [missing, status] of [
      ["darwin/arm64", 404],
      ["plan9/amd64", 400],
    ] as const) {
      const other = await get({}, "GET", `/api/v1/agents/download/${missing}/manifest`);
      expect([missing, other.status]).toEqual([missing, status]);
      await other.arrayBuffer();
    }
  });

  it.each([
    ["/api/v1/agents/download/linux/..%2f..%2fetc", 400],
    ["/api/v1/agents/download/plan9/amd64", 400],
    ["/api/v1/agents/download/linux/amd64?version=../../etc/passwd", 400],
    ["/api/v1/agents/download/linux/amd64?version=7.7.7", 404],
    ["/api/v1/agents/download/darwin/arm64?version=1.1.0", 404],
  ])("for %s answers %d", async (at, status) => {
    const reply = await get({}, "GET", at);
    expect([400, 404]).toContain(reply.status);
    if (status === 404) expect(reply.status).toBe(404);
    await reply.arrayBuffer();
  });
});

describe("pins, policy and window", () => {
  const put = (path: string, body: object, by: Api = root) => by.call("PUT", path, body);
  const ofOrganization = (orgId: string) => `/orgs/organizations/${orgId}/agent-updates`;

  it("an offer that is not started is taken back with the next heartbeat, and the device is online at once", async () => {
    const tenant = await newTenant(root);
    const agent = await agentIn(tenant);
    expect((await agent.heartbeat()).body).toMatchObject({ status: "updating", upgradeTo: "1.1.0" });
    await put(ofOrganization(tenant.orgId), { updatePolicy: "manual" });
    expect((await agent.heartbeat()).body).toMatchObject({ status: "online", upgradeTo: null, updates: [] });
    expect(await deviceOf(agent.id)).toMatchObject({ status: "online" });
    await put(ofOrganization(tenant.orgId), {});
    expect((await agent.heartbeat()).body).toMatchObject({ upgradeTo: "1.1.0" });
    const update = { component: "agent", version: "1.1.0", state: "downloading", bytesDone: 10, bytesTotal: 20 };
    await agent.heartbeat({ update });
    await put(ofOrganization(tenant.orgId), { updatePolicy: "manual" });
    expect((await agent.heartbeat()).body).toMatchObject({ status: "updating", upgradeTo: "1.1.0" });
    const { body } = await root.call("GET", `/devices/${agent.id}/update-decision`);
    expect(body).toMatchObject({ components: [{ rule: "in_progress", target: "1.1.0" }, {}, {}] });
  });

  it("a device goes back to a pinned version with a rollback note alone", async () => {
    const tenant = await newTenant(root);
    const agent = await agentIn(tenant, { agentVersion: "1.1.0" });
    const pin = { agentTarget: "1.0.5", allowDowngrade: true };
    const fields = {
      component: "agent",
      version: "1.0.5",
      counter: 1_000,
      scope: tenant.orgId,
      expires: "2100-01-01T00:00:00Z",
    };
    const note = (change: object = {}) => signNote(`${JSON.stringify({ ...fields, ...change })}\n`, signer);
    const refused = async (body: object) => {
      const reply = await put(ofOrganization(tenant.orgId), body);
      return [
        reply.status,
        reply.body.code,
        Object.keys((reply.body.details as { fieldErrors?: object })?.fieldErrors ?? {}),
      ];
    };
    expect(await refused(pin)).toEqual([400, "rollback_note_required", []]);
    for (const change of [{ component: "watchdog" }, { version: "1.0.4" }, { expires: "2020-01-01T00:00:00Z" }]) {
      expect(await refused({ ...pin, rollbackNote: note(change) })).toEqual([
        400,
        "validation_failed",
        ["rollbackNote"],
      ]);
    }
    expect((await agent.heartbeat({ agentVersion: "1.1.0" })).body).toMatchObject({ upgradeTo: null });
    const { body } = await put(ofOrganization(tenant.orgId), { ...pin, rollbackNote: note() });
    expect(body).toMatchObject({ allowDowngrade: true, rollbackNote: note() });
    const offered = (await agent.heartbeat({ agentVersion: "1.1.0" })).body;
    expect(offered).toMatchObject({ upgradeTo: "1.0.5", updates: [{ rollbackNote: note() }] });
    expect((await agent.heartbeat({ agentVersion: "1.0.5" })).body).toMatchObject({
      status: "online",
      upgradeTo: null,
    });
  });

  it("a pinned organization keeps its version, another one updates; `latest` removes the pin", async () => {
    const [pinned, free] = [await newTenant(root), await newTenant(root)];
    const reply = await put(ofOrganization(pinned.orgId), { agentTarget: "1.0.5" });
    expect([reply.status, reply.body]).toMatchObject([
      200,
      { fields: { agentTarget: { value: "1.0.5", effective: "1.0.5", source: "organization", lockedBy: null } } },
    ]);
    const [there, here] = [await agentIn(pinned), await agentIn(free)];
    expect((await there.heartbeat()).body).toMatchObject({ upgradeTo: "1.0.5" });
    expect((await here.heartbeat()).body).toMatchObject({ upgradeTo: "1.1.0" });
    expect(await put(ofOrganization(pinned.orgId), { agentTarget: "7.7.7" })).toMatchObject({
      status: 400,
      body: { details: { fieldErrors: { agentTarget: ["Must be `latest` or a registered version"] } } },
    });
    const second = await agentIn(pinned);
    await put(ofOrganization(pinned.orgId), { agentTarget: "latest" });
    expect((await second.heartbeat()).body).toMatchObject({ upgradeTo: "1.1.0" });
  });

  it("a closed window offers nothing until it opens, and a request goes past it once", async () => {
    const tenant = await newTenant(root);
    const agent = await agentIn(tenant);
    const day = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"][(new Date().getUTCDay() + 3) % 7];
    const closed = await put(ofOrganization(tenant.orgId), { windowDays: [day] });
    expect(closed.body).toMatchObject({ windowOpen: false, nextOpening: expect.any(String) });
    expect((await agent.heartbeat()).body).toMatchObject({ status: "online", upgradeTo: null });
    const decision = await root.call("GET", `/devices/${agent.id}/update-decision`);
    expect(decision.body).toMatchObject({
      windowOpen: false,
      components: [{ rule: "window_closed", target: "1.1.0" }, {}, {}],
    });
    expect((await root.call("POST", `/devices/${agent.id}/update`)).status).toBe(202);
    expect((await agent.heartbeat()).body).toMatchObject({ upgradeTo: "1.1.0" });
  });

  it("`manual` waits for POST /devices/:id/update", async () => {
    const tenant = await newTenant(root);
    const agent = await agentIn(tenant);
    await put(ofOrganization(tenant.orgId), { updatePolicy: "manual" });
    expect((await agent.heartbeat()).body).toMatchObject({ upgradeTo: null });
    await root.call("POST", `/devices/${agent.id}/update`);
    expect((await agent.heartbeat()).body).toMatchObject({ upgradeTo: "1.1.0" });
  });

  it("a field that the partner sets wins and locks; unset, the organization's own value counts again", async () => {
    const tenant = await newTenant(root);
    const agent = await agentIn(tenant);
    const user = await signedInAs(cluster, "partner-admin", { partnerId: tenant.partnerId, orgAccess: "all" });
    await enrollTotp(user);
    const partner = user.api;
    const mine = "/orgs/partners/me/agent-updates";
    await put(ofOrganization(tenant.orgId), { updatePolicy: "automatic", windowStart: "00:00", windowEnd: "24:00" });
    const locked = await put(mine, { updatePolicy: "manual" }, partner);
    expect([locked.status, locked.body]).toMatchObject([200, { fields: { updatePolicy: { effective: "manual" } } }]);
    expect((await root.call("GET", ofOrganization(tenant.orgId))).body).toMatchObject({
      fields: {
        updatePolicy: { value: "automatic", effective: "manual", source: "partner", lockedBy: "partner" },
        windowStart: { value: "00:00", source: "organization", lockedBy: null },
        windowEnd: { value: "24:00" },
      },
    });
    expect((await agent.heartbeat()).body).toMatchObject({ upgradeTo: null });
    await put(mine, {}, partner);
    expect((await agent.heartbeat()).body).toMatchObject({ upgradeTo: "1.1.0" });
  });
});

describe("a staged rollout", () => {
  it("reaches its ring alone, is paused, resumed, widened and completed", async () => {
    await publish(
      folder,
      buildRelease("helper", "2.0.0", { signer }),
      buildRelease("helper", "2.1.0-rc.1", { signer }),
    );
    expect((await sync("2.0.0")).status).toBe(200);
    expect((await sync("2.1.0-rc.1")).status).toBe(200);
    const [inside, outside] = [await newTenant(root), await newTenant(root)];
    const says = { helperVersion: "2.0.0", agentVersion: "1.1.0" };
    const rings = [
      { name: "first", orgIds: [inside.orgId] },
      { name: "second", orgIds: [outside.orgId] },
    ];
    expect((await root.call("POST", "/agent-versions/rollouts/preview", { rings })).body).toEqual({
      rings: [
        { name: "first", devices: 0, ownDevices: 0 },
        { name: "second", devices: 0, ownDevices: 0 },
      ],
    });
    const wanted = { component: "helper", version: "2.1.0-rc.1", rings, soakSeconds: 0 };
    expect(await root.call("POST", "/agent-versions/rollouts", wanted)).toMatchObject({
      status: 400,
      body: { details: { fieldErrors: { "rings.0": ["Matches no device"] } } },
    });
    const [a, b] = [await agentIn(inside), await agentIn(outside)];
    const created = await root.call("POST", "/agent-versions/rollouts", {
      component: "helper",
      version: "2.1.0-rc.1",
      rings: [
        { name: "first", orgIds: [inside.orgId] },
        { name: "second", orgIds: [outside.orgId] },
      ],
      soakSeconds: 0,
    });
    expect([created.status, created.body]).toMatchObject([201, { kind: "staged", state: "running", openRings: 1 }]);
    const path = `/agent-versions/rollouts/${created.body.id}`;
    expect((await a.heartbeat(says)).body).toMatchObject({ helperUpgradeTo: "2.1.0-rc.1" });
    expect((await b.heartbeat(says)).body).toMatchObject({ helperUpgradeTo: null });
    const why = (await root.call("GET", `/devices/${b.id}/update-decision`)).body.components as { rule: string }[];
    expect(why[2]).toMatchObject({ component: "helper", rule: "not_in_ring", target: "2.1.0-rc.1" });
    expect((await root.call("POST", `${path}/pause`)).body).toMatchObject({ state: "paused", budget: 0 });
    await root.call("PATCH", path, { openRings: 2 });
    expect((await b.heartbeat(says)).body).toMatchObject({ helperUpgradeTo: null });
    await root.call("POST", `${path}/resume`);
    // The first device of a system goes alone until its update has ended.
    expect((await a.heartbeat(says)).body).toMatchObject({ helperUpgradeTo: "2.1.0-rc.1" });
    expect((await b.heartbeat(says)).body).toMatchObject({ helperUpgradeTo: null });
    await a.heartbeat({ ...says, helperVersion: "2.1.0-rc.1" });
    await until("the next offer", async () => (await b.heartbeat(says)).body.helperUpgradeTo === "2.1.0-rc.1");
    expect((await root.call("PATCH", path, { openRings: 1 })).body).toMatchObject({
      details: { fieldErrors: { openRings: ["May only rise"] } },
    });
    const progress = await root.call("GET", `${path}/progress`);
    expect(progress.body).toMatchObject({ rollout: { inFlight: 1, succeeded: 1, failed: 0 } });
    const devices = await root.call("GET", `${path}/devices?state=succeeded`);
    expect(devices.body.data).toMatchObject([{ deviceId: a.id, version: "2.1.0-rc.1", state: "succeeded" }]);
    expect((await root.call("POST", `${path}/complete`)).body).toMatchObject({ state: "completed" });
    expect((await root.call("GET", "/agent-versions")).body.targets).toMatchObject({ helper: "2.1.0-rc.1" });
    expect((await root.call("POST", `${path}/pause`)).body).toMatchObject({ code: "rollout_not_running" });
  });
});

describe("a device", () => {
  it("with updates turned off is offered nothing until they are turned on", async () => {
    const agent = await agentIn(await newTenant(root));
    await root.call("POST", `/devices/${agent.id}/auto-update`, { enabled: false });
    expect((await agent.heartbeat()).body).toMatchObject({ status: "online", upgradeTo: null });
    await root.call("POST", `/devices/${agent.id}/auto-update`, { enabled: true });
    expect((await agent.heartbeat()).body).toMatchObject({ upgradeTo: "1.1.0" });
  });

  it("updates agent, watchdog and helper one after the other", async () => {
    await release("1.2.0", "agent", "watchdog", "helper");
    const agent = await agentIn(await newTenant(root));
    const beat = (a: string, w: string, h: string) =>
      agent.heartbeat({ agentVersion: a, watchdogVersion: w, helperVersion: h });
    expect((await beat("1.0.0", "1.0.0", "1.0.0")).body).toMatchObject({ upgradeTo: "1.2.0", watchdogUpgradeTo: null });
    // Soaks: nothing else is started meanwhile.
    expect((await beat("1.2.0", "1.0.0", "1.0.0")).body).toMatchObject({ upgradeTo: null, watchdogUpgradeTo: null });
  });

  it("is online immediately after it reports a failed update, and gets no offer for an hour", async () => {
    const agent = await agentIn(await newTenant(root));
    const { body } = await agent.heartbeat();
    const [update] = body.updates as { version: string }[];
    const failed = { component: "agent", version: update?.version, state: "failed", error: "bad_digest" };
    expect((await agent.heartbeat({ update: failed })).body).toMatchObject({ status: "online", updates: [] });
    const decision = (await root.call("GET", `/devices/${agent.id}/update-decision`)).body;
    expect(decision).toMatchObject({
      components: [{ rule: "back_off" }, {}, {}],
      attempts: [{ state: "failed", reason: "bad_digest" }],
    });
    await until("the audit row", async () => (await auditedActions(root, "device.update", agent.id)).length > 0);
  });

  it("with a locked file is offered the update again with the next heartbeat", async () => {
    const agent = await agentIn(await newTenant(root));
    const { body } = await agent.heartbeat();
    const [update] = body.updates as { version: string; attemptId: string }[];
    const locked = { component: "agent", version: update?.version, state: "locked" };
    const next = (await agent.heartbeat({ update: locked })).body.updates as { attemptId: string; version: string }[];
    expect(next[0]?.version).toBe(update?.version);
    expect(next[0]?.attemptId).not.toBe(update?.attemptId);
  });
});

describe("a machine with musl", () => {
  it("is offered programs for musl alone, which its installer finds by the same word", async () => {
    const tenant = await newTenant(root);
    const agent = await agentIn(tenant, { libc: "musl" });
    expect(await deviceOf(agent.id)).toMatchObject({ os: "linux", arch: "amd64", libc: "musl" });
    expect((await agent.heartbeat()).body).toMatchObject({ upgradeTo: null, updates: [] });
    const why = (await root.call("GET", `/devices/${agent.id}/update-decision`)).body.components as object[];
    expect(why[0]).toMatchObject({ rule: "no_artifact", detail: expect.stringContaining("linux/amd64/musl") });

    await publish(folder, buildRelease("agent", "1.3.0", { signer, musl: true }));
    const synced = ["agent:linux/amd64", "agent:windows/amd64", "agent:linux/amd64/musl"];
    expect((await sync("1.3.0")).body).toMatchObject({ version: "1.3.0", synced });
    const fileOf = async (updates: unknown) => {
      const [{ url, sha256 } = { url: "", sha256: "" }] = updates as { url: string; sha256: string }[];
      const bytes = Buffer.from(await (await fetch(url.replace(/^https?:\/\/[^/]+/, cluster.url))).arrayBuffer());
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
      return bytes.toString().split("\n")[0];
    };
    expect(await fileOf((await agent.heartbeat()).body.updates)).toBe("agent 1.3.0 for linux/amd64/musl");
    const other = await agentIn(tenant);
    expect(await fileOf((await other.heartbeat()).body.updates)).toBe("agent 1.3.0 for linux/amd64");
    expect(await deviceOf(other.id)).toMatchObject({ libc: null });
    await other.heartbeat({ libc: "gnu" });
    expect(await deviceOf(other.id)).toMatchObject({ libc: "gnu" });

    const text = async (query: string) =>
      (await fetch(`${cluster.url}/api/v1/agents/download/linux/amd64${query}`)).text();
    expect(await text("?libc=musl")).toContain("for linux/amd64/musl");
    expect(await text("?libc=gnu")).toBe(await text(""));
    expect(await text("/manifest?libc=musl")).toBe(await text("/manifest"));
    const at = `${cluster.url}/api/v1/agents/download`;
    for (const [path, status] of [
      ["linux/amd64?libc=uclibc", 400],
      ["windows/amd64?libc=musl", 404],
      ["linux/amd64/manifest?libc=musl&version=1.1.0", 404],
    ] as const) {
      expect([path, (await fetch(`${at}/${path}`)).status]).toEqual([path, status]);
    }
    expect((await agent.heartbeat({ libc: "uclibc" })).body).toMatchObject({
      details: { fieldErrors: { libc: [expect.any(String)] } },
    });
    const { data } = (await root.call("GET", "/agents/downloads")).body as { data: { libc: string; url: string }[] };
    expect(data.filter(({ url }) => url.includes("libc=musl")).map(({ libc }) => libc)).toEqual(["musl"]);
    expect((await root.call("GET", "/agent-versions?component=agent")).body.data).toContainEqual(
      expect.objectContaining({ artifacts: expect.arrayContaining([expect.objectContaining({ libc: "musl" })]) }),
    );
  });
});
