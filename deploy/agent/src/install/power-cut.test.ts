import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { AgentIdentity } from "@muster/agent";
import { until } from "@muster/testing";
import { version } from "../build-info.ts";
import type { Config } from "../config.ts";
import { linkTarget, readStored } from "../durable.ts";
import { realHost } from "../hosts/real-host.ts";
import { openIdentity } from "../identity-file.ts";
import { pathsOf } from "../paths.ts";
import { type Installation, newInstallation, offerOf, saying } from "../testing/installation.ts";
import { recordDisk } from "../testing/lossy-disk.ts";
import { isWhole } from "./release-folder.ts";
import { settle } from "./supervise.ts";
import { readUpdate, restoreVersion } from "./update-state.ts";

let at: Installation;
let scratch: string;
const reply = { status: "online", serverTime: "2026-01-31T12:00:00.000Z" };
beforeEach(() => {
  at = newInstallation();
  scratch = mkdtempSync(join(tmpdir(), "muster-cut-"));
  at.link(at.addVersion("0.0.0", saying("0.0.0")));
  writeFileSync(at.paths.machine, '{"hardwareId":"h","serialNumber":""}');
  const file = openIdentity(at.paths);
  file.identity.token = "agt_token";
  file.save();
});
afterEach(() => {
  at.remove();
  rmSync(scratch, { recursive: true, force: true });
});

/** An agent's process at this moment: what a start makes of what is stored. */
const newHost = () => {
  const config = { labels: {} } as unknown as Config;
  const replaceWatchdog = async () => true;
  return realHost({
    config,
    paths: at.paths,
    file: openIdentity(at.paths),
    log: () => {},
    replaceWatchdog,
    steadyMs: 1,
  });
};

/** The update to the version of this source, from its download to where the process ends. */
async function swapped(script: string): Promise<void> {
  const { offer, accepted } = offerOf(version, Buffer.from(script));
  const host = newHost();
  const part = await host.partOf(offer);
  writeFileSync(part, script);
  await host.prove?.(offer, accepted, part);
  expect(await host.install(offer, accepted, part)).toEqual({ heartbeat: "never" });
}

/** The next start works, and reports what was undone. */
async function ended(): Promise<void> {
  const host = newHost();
  host.accepted?.(reply, host.firstReport);
  await until("the end of the update", () => readUpdate(at.paths) === null);
}

/** After every cut: the watchdog's start leads to a program that is whole, and the token is there. */
async function survives(work: () => Promise<void>): Promise<number> {
  const disk = recordDisk(at.folder);
  await work().finally(disk.stop);
  let states = 0;
  for (let moment = 0; moment < disk.moments; moment++) {
    for (const build of disk.states(moment)) {
      const folder = join(scratch, String(states++));
      mkdirSync(folder);
      build(folder);
      const paths = pathsOf({ programFolder: folder, stateFolder: join(folder, "state") });
      const what = `state ${states} of moment ${moment}`;
      await settle(paths, () => {});
      expect([what, await isWhole(paths.links.agent.current)]).toEqual([what, true]);
      expect([what, readStored<AgentIdentity>(paths.identity)?.token]).toEqual([what, "agt_token"]);
      rmSync(folder, { recursive: true });
    }
  }
  return states;
}

describe("a power cut at any moment leaves one working program and the token", () => {
  it("during an update that is kept", async () => {
    const states = await survives(async () => {
      await swapped(saying(version));
      await ended();
    });
    expect(linkTarget(at.paths.links.agent.current)).toContain(version);
    expect(states).toBeGreaterThan(250);
  });

  it("during an update that is rolled back", async () => {
    const states = await survives(async () => {
      await swapped(saying(version));
      const update = readUpdate(at.paths);
      if (update) restoreVersion(at.paths, update, "it hangs");
      await ended();
    });
    expect(linkTarget(at.paths.links.agent.current)).toContain("0.0.0");
    expect(states).toBeGreaterThan(250);
  });

  it("during one update after another", async () => {
    await swapped(saying(version));
    await ended();
    const states = await survives(async () => {
      await swapped(saying(version, "# another build"));
      await ended();
    });
    expect(states).toBeGreaterThan(250);
  });
});
