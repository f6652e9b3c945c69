import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys } from "@muster/kit";
import { until } from "@muster/testing";
import { type BootedSystem, bootSystem, canBoot } from "./testing/booted-system.ts";
import { type FakePlatform, publish, startFakePlatform } from "./testing/fake-platform.ts";

// The packaged program as a service of a real systemd. AGENT_RELEASES is a folder with versions 1.0.0, with its Debian
// package, and 1.1.0 of `npm run agent:build`.
const releases = process.env.AGENT_RELEASES ?? "";
const booted = releases !== "" && canBoot() ? it : it.skip;
const key = randomBytes(32).toString("hex");
const arch = process.arch === "arm64" ? "arm64" : "amd64";
const deb = `muster-agent_1.0.0_${arch}.deb`;

let folder: string;
let platform: FakePlatform;
let system: BootedSystem | null = null;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-service-"));
  platform = await startFakePlatform();
});
afterEach(async () => {
  await system?.stop();
  await platform.close();
  rmSync(folder, { recursive: true, force: true });
});

booted(
  "the package's service is online, sends the journal, updates, outlives its watchdog and a reboot, and is removed whole",
  async () => {
    const machine = await bootSystem(join(folder, "system"), [join(releases, "1.0.0", deb)]);
    system = machine;
    const run = async (command: string) => {
      const { code, output } = await machine.run(command);
      expect([command, code, output]).toEqual([command, 0, output]);
      return output.trim();
    };
    const agentPid = async () => (await run("cat /var/lib/muster-agent/agent.lock")).split(" ")[0];
    const watchdogPid = () => run("systemctl show --property=MainPID --value muster-agent");
    const beatsAgain = async () => {
      const before = platform.heartbeats.length;
      await until("another heartbeat", () => platform.heartbeats.length > before, 60_000);
    };

    await run(`MUSTER_URL=${platform.url} dpkg -i /packages/${deb}`);
    expect(await run(`MUSTER_ENROLLMENT_KEY=${key} muster-agent enroll`)).toBe("online");
    expect(await run("systemctl is-active muster-agent")).toBe("active");
    expect(await run("muster-agent status")).toMatch(/^state +online since/);
    expect(await run("ps -o user= -p $(cut -d' ' -f1 /var/lib/muster-agent/agent.lock)")).toMatch(/^muster-/);

    await run("logger -t walk 'a line for the page of the device'");
    await until("the line", () => platform.events.includes("a line for the page of the device"), 60_000);
    expect(await run(`journalctl --no-pager | grep -c ${key.slice(1)} || true`)).toBe("0");

    const program = gunzipSync(readFileSync(join(releases, "1.1.0", `muster-agent-linux-${arch}.gz`)));
    platform.offered = publish("1.1.0", program, noteKeys(generateNoteKey("releases")).signer, { counter: 2 ** 40 });
    await until("the next version", () => platform.heartbeats.at(-1)?.agentVersion === "1.1.0", 120_000);

    const [watchdog, agent] = [await watchdogPid(), await agentPid()];
    await run(`kill -9 ${watchdog}`);
    await until("another watchdog", async () => !["0", watchdog].includes(await watchdogPid()), 60_000);
    await beatsAgain();
    expect(await agentPid()).toBe(agent);

    await machine.reboot();
    await beatsAgain();
    expect([platform.heartbeats.at(-1)?.agentVersion, platform.enrollments.length]).toEqual(["1.1.0", 1]);
    expect(await run("systemctl is-active muster-agent")).toBe("active");

    const security = await run("systemd-analyze security --no-pager muster-agent.service");
    const [, exposure = ""] = /Overall exposure level for muster-agent\.service: ([\d.]+)/.exec(security) ?? [];
    process.stderr.write(`systemd-analyze security: ${exposure}\n`);
    expect(Number(exposure)).toBeLessThanOrEqual(2.5);

    await run("dpkg --purge muster-agent");
    expect(await run("ls -d /opt/muster-agent /var/lib/muster-agent /etc/muster-agent 2>/dev/null || true")).toBe("");
    expect(await run("id muster-agent 2>&1 || true")).toContain("no such user");
    expect(await run("ps -eo args | grep '[o]pt/muster-agent' || true")).toBe("");
  },
  600_000,
);
