import type { Command } from "commander";
import { type PinOptions, pin, setPolicy } from "./commands/pins.ts";
import type { BodyOptions } from "./commands/records.ts";
import { type PromoteOptions, promote, type SyncOptions, sync, yank } from "./commands/releases.ts";
import {
  changeRollout,
  previewRings,
  type ResumeOptions,
  resumeRollout,
  rolloutProgress,
} from "./commands/rollouts.ts";
import type { Io } from "./io.ts";
import { add, all, organization } from "./program-parts.ts";

/** `releases` and `rollouts`: changes; their records are those of `get agent-versions` and `get rollouts`. */
export function addReleases(parent: Command, io: Io) {
  const releases = parent.command("releases").description("versions of the agent: register, promote, withdraw");
  add(releases, "sync", "register a version from a release source", "muster releases sync github --release 1.4.0")
    .argument("<source>")
    .option("--release <version>", "the version; without it the latest stable one")
    .action((source: string, _options, command: Command) => sync(io, source, all<SyncOptions>(command)));
  add(releases, "promote", "make a version the fleet's target", "muster releases promote 1.4.0")
    .argument("<version>")
    .option("--component <component>", "agent, watchdog or helper; all without it")
    .action((version: string, _options, command: Command) => promote(io, version, all<PromoteOptions>(command)));
  add(releases, "yank", "stop offering a version", "muster releases yank ID --yes")
    .argument("<id>")
    .action((id: string, _options, command: Command) => yank(io, id, all(command)));

  add(
    releases,
    "pin",
    "pin an organization, or your own tenant, to a version",
    "muster releases pin 1.3.0 --org ID --rollback-note rollback.note",
  )
    .argument("<version>", "a registered version, latest, or none for no pin")
    .addOption(organization())
    .option("--component <component>", "agent or watchdog", "agent")
    .option(
      "--rollback-note <file>",
      "a signed note: devices that run a newer version go back; without it an earlier note is removed",
    )
    .action((version: string, _options, command: Command) => pin(io, version, all<PinOptions>(command)));

  add(
    releases,
    "policy",
    "hold the updates of an organization, or of your own tenant (manual), or let them go on",
    "muster releases policy manual --org ID",
  )
    .argument("<policy>", "automatic; manual: updates start only on request; none: that of the partner counts")
    .addOption(organization())
    .action((policy: string, _options, command: Command) => setPolicy(io, policy, all(command)));

  const rollouts = parent
    .command("rollouts")
    .description("staged rollouts: preview, progress, pause, resume, complete, cancel");
  add(
    rollouts,
    "preview",
    "count the devices of rings before a rollout starts",
    `muster rollouts preview 'rings:=[{"name":"Pilot","labels":{"env":"test"}}]'`,
  )
    .argument("[fields...]", "as for create")
    .option("--file <file>", "a JSON object to start from; - for standard input")
    .action((fields: string[], _options, command: Command) => previewRings(io, fields, all<BodyOptions>(command)));
  add(rollouts, "progress", "how far a rollout is, wave by wave", "muster rollouts progress ID")
    .argument("<id>")
    .action((id: string, _options, command: Command) => rolloutProgress(io, id, all(command)));
  for (const [change, about] of [
    ["pause", "offer the version to no further device"],
    ["complete", "make the version the target of the whole fleet"],
    ["cancel", "end the rollout; devices that run the version keep it"],
  ] as const) {
    add(rollouts, change, about, `muster rollouts ${change} ID`)
      .argument("<id>")
      .action((id: string, _options, command: Command) => changeRollout(io, change, id, all(command)));
  }
  add(rollouts, "resume", "go on after a pause or a halt", "muster rollouts resume ID --accept-failures")
    .argument("<id>")
    .option("--accept-failures", "failures so far no longer count")
    .action((id: string, _options, command: Command) => resumeRollout(io, id, all<ResumeOptions>(command)));
}
