import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { generateNoteKey, noteKeys, signNote } from "@muster/kit";
import { DownloadService } from "@muster/proto/muster/release/v1/download_pb";
import { ReleaseService } from "@muster/proto/muster/release/v1/release_pb";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { createPlanMemory } from "../commands/plan-memory.ts";
import { startRelease, type TestRelease } from "../testing/release.ts";
import { downloadService } from "./download.ts";
import { releaseService } from "./release.ts";
import { rolloutService } from "./rollout.ts";

// The catalogue has an unsigned release of the agent, promoted while that was allowed.

const permissions = ["platform:admin", "agent-releases:read"];
const artifact = { os: "linux", arch: "amd64", size: 3, sha256: "b".repeat(64), name: "agent" };
const line = (version: string) => `${JSON.stringify({ version, component: "agent", artifacts: [artifact] })}\n`;
const urls = { agent: "https://files.example.test/agent" };

let release: TestRelease;
const ports: TestPort[] = [];
beforeAll(async () => {
  release = await startRelease();
  await release.release("1.1.0");
  await release.stage("1.4.0", { percent: 0 });
  await release.change(sql`UPDATE release SET signed = false, manifest = NULL`);
  await release.change(sql`UPDATE artifact SET source_url = 'https://files.example.test/agent'`);
});
afterAll(async () => {
  for (const port of ports) await port.close();
  await release?.stop();
});

/** The service without keys. */
async function serviceWhere(unsigned: boolean) {
  const { db, log, now } = release.deps;
  const plan = createPlanMemory({ unsigned, keys: [] });
  const common = { db, log, now, unsigned, plan, mfaMaxAgeMinutes: 10 };
  const more = { keys: [], sources: [], storage: null, autoPromote: false, wakeSync: () => undefined };
  const port = await testPort("agent-release", [
    register(ReleaseService, releaseService({ ...common, ...more })),
    register(
      RolloutService,
      rolloutService({
        ...common,
        ramp: release.deps.ramp,
        countDevices: async () => ({ groups: [], unknownIds: [] }),
        stagedMax: 10,
      }),
    ),
    register(DownloadService, downloadService({ db, storage: null, preferStore: false, plan })),
  ]);
  ports.push(port);
  const root = callers.platformAdmin({ permissions, mfaAt: new Date() });
  const [releases, rollouts] = [port.client(ReleaseService, root), port.client(RolloutService, root)];
  const downloads = port.client(DownloadService, callers.service("gateway"));
  const signed = signNote(line("1.3.0"), noteKeys(generateNoteKey("a")).signer);
  return {
    "registers an unsigned one": () => releases.registerRelease({ manifest: line("1.2.0"), urls }),
    "registers one of an unknown key": () => releases.registerRelease({ manifest: signed, urls }),
    "promotes one": () => releases.promoteRelease({ version: "1.1.0", component: "agent" }),
    "rolls one out": () => rollouts.createRollout({ component: "agent", version: "1.4.0", percent: 0 }),
    "serves its file": () => downloads.locate({ os: "linux", arch: "amd64", component: "agent", version: "" }),
    "serves its file by version": () =>
      downloads.locate({ os: "linux", arch: "amd64", component: "agent", version: "1.1.0" }),
  };
}

const listed = async () => {
  const admin = ports.at(-1)?.client(DownloadService, callers.platformAdmin({ permissions }));
  return (await admin?.listDownloads({ component: "agent" }))?.downloads.length;
};

async function offered(unsigned: boolean): Promise<string[]> {
  release.deps.plan = createPlanMemory({ unsigned, keys: [] });
  const { answers } = await release.decide(release.question());
  return answers.flatMap(({ offers }) => offers.map(({ version }) => version));
}

describe("without keys", () => {
  it("the service refuses each way to an unsigned release as release_untrusted, and offers none", async () => {
    const found: Record<string, string> = {};
    for (const [what, call] of Object.entries(await serviceWhere(false))) found[what] = await outcome(call());
    for (const [what, answer] of Object.entries(found)) {
      expect([what, answer]).toEqual([what, expect.stringMatching(/^release_untrusted /)]);
    }
    expect([await listed(), await offered(false)]).toEqual([0, []]);
  });

  it("and where they are allowed it serves all of them", async () => {
    const found: Record<string, string> = {};
    for (const [what, call] of Object.entries(await serviceWhere(true))) found[what] = await outcome(call());
    expect(new Set(Object.values(found))).toEqual(new Set(["ok"]));
    expect([await listed(), await offered(true)]).toEqual([1, ["1.1.0"]]);
  });

  it("an offer that was made while they were allowed is not repeated", async () => {
    const question = release.question();
    release.deps.plan = createPlanMemory({ unsigned: true, keys: [] });
    expect((await release.decide(question)).answers[0]?.offers).toHaveLength(1);
    release.deps.plan = createPlanMemory({ unsigned: false, keys: [] });
    expect((await release.decide(question)).answers[0]?.offers).toEqual([]);
  });
});
