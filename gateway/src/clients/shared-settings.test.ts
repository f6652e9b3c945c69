import { describe, expect, it } from "@jest/globals";
import { serviceNames } from "@muster/kit";
import type { Services } from "./services.ts";
import { compareSharedSettings, differencesOf, differencesText } from "./shared-settings.ts";

type Shown = Record<string, string>;

/** A comparison with a gateway that waits 480 minutes, and services that answer as `shown` says. */
function comparing(shown: Record<string, Shown | undefined>) {
  const logged: unknown[][] = [];
  const note = (...line: unknown[]) => logged.push(line);
  const probes = Object.fromEntries(
    serviceNames.map((name) => [
      name,
      {
        async getInfo() {
          const sharedSettings = shown[name];
          if (!sharedSettings) throw new Error("does not answer");
          return { sharedSettings };
        },
      },
    ]),
  ) as unknown as Services["probes"];
  const settings = compareSharedSettings({
    own: { MFA_MAX_AGE_MINUTES: "480" },
    probes,
    call: async () => ({}),
    log: { error: note, info: note, warn: note } as never,
    everyMs: 1,
  });
  return { settings, logged };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe("settings that several processes share", () => {
  it("are reported once, with the value of each process, until they agree", async () => {
    const shown: Record<string, Shown | undefined> = {
      identity: { MFA_MAX_AGE_MINUTES: "480" },
      audit: { MFA_MAX_AGE_MINUTES: "60" },
      tenancy: { HEARTBEAT_INTERVAL_SECONDS: "60" },
    };
    const { settings, logged } = comparing(shown);
    await until(() => settings.differences().length > 0);
    const values = { gateway: "480", identity: "480", audit: "60" };
    expect(settings.differences()).toEqual([{ setting: "MFA_MAX_AGE_MINUTES", values }]);
    // One that stops answering still counts as it was.
    shown.audit = undefined;
    shown["agent-release"] = { HEARTBEAT_INTERVAL_SECONDS: "30" };
    await until(() => settings.differences().length === 2);
    shown.audit = { MFA_MAX_AGE_MINUTES: "480" };
    shown["agent-release"] = { HEARTBEAT_INTERVAL_SECONDS: "60" };
    await until(() => settings.differences().length === 0);
    await settings.stop();
    expect(logged.map(([fields]) => (fields as { setting?: string }).setting ?? fields)).toEqual([
      "MFA_MAX_AGE_MINUTES",
      "HEARTBEAT_INTERVAL_SECONDS",
      "MFA_MAX_AGE_MINUTES",
      "settings no longer differ between processes",
    ]);
  });

  it("agree where only one process has them", () => {
    const byProcess = new Map<string, Shown>([
      ["gateway", { A: "1" }],
      ["tenancy", { B: "2" }],
    ]);
    expect(differencesOf(byProcess)).toEqual([]);
  });

  it("are one line in the probe of the process", () => {
    expect(differencesText([])).toBe("ok");
    expect(differencesText([{ setting: "A", values: { audit: "1", gateway: "2" } }])).toBe(
      "A differs: 1 (audit), 2 (gateway)",
    );
  });
});
