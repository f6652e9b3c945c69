import { readFile } from "node:fs/promises";
import type { components } from "@muster/client";
import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { tableWriter } from "../table.ts";
import { show } from "./records.ts";

const pinned = ["agent", "watchdog"] as const;
const policies = ["automatic", "manual"] as const;

type Settings = components["schemas"]["AgentUpdateSettings"];
type Owner = Globals & { org?: string };
export type PinOptions = Owner & { component: string; rollbackNote?: string };

/**
 * Pins a component of an organization, or of the caller's own tenant without one, to a version, `latest` or nothing
 * (`none`); the other settings stay. With a rollback note devices that run a newer version go back.
 */
export async function pin(io: Io, version: string, options: PinOptions): Promise<void> {
  const component = pinned.find((each) => each === options.component);
  if (component === undefined) throw wrongUsage(`--component is one of ${pinned.join(", ")}`);
  const note = options.rollbackNote === undefined ? null : await readFile(options.rollbackNote, "utf8");
  await change(io, options, () => ({
    [`${component}Target`]: version === "none" ? null : version,
    ...(note === null ? {} : { allowDowngrade: true, rollbackNote: note }),
  }));
}

/** Sets the update policy of an organization, or of the caller's own tenant, or none; the other settings stay. */
export async function setPolicy(io: Io, typed: string, options: Owner): Promise<void> {
  const updatePolicy = policies.find((each) => each === typed) ?? null;
  if (updatePolicy === null && typed !== "none") {
    throw wrongUsage(`a policy is one of ${policies.join(", ")}, none; not "${typed}"`);
  }
  await change(io, options, ({ allowDowngrade, rollbackNote }) => ({ updatePolicy, allowDowngrade, rollbackNote }));
}

/** Replaces the settings with what they are and a change of them. */
async function change(io: Io, options: Owner, of: (now: Settings) => object): Promise<void> {
  const { muster } = connect(io, options);
  const ofPartner = "/api/v1/orgs/partners/me/agent-updates";
  const ofOrganization = "/api/v1/orgs/organizations/{id}/agent-updates";
  const id = options.org ?? (await done(muster.GET("/api/v1/auth/me"))).orgId;
  const params = { path: { id: id ?? "" } };
  const now = await done(id ? muster.GET(ofOrganization, { params }) : muster.GET(ofPartner));
  const { fields } = now;
  const body = {
    agentTarget: fields.agentTarget.value,
    watchdogTarget: fields.watchdogTarget.value,
    updatePolicy: fields.updatePolicy.value,
    windowDays: fields.windowDays.value,
    windowStart: fields.windowStart.value,
    windowEnd: fields.windowEnd.value,
    ...of(now),
  };
  showSettings(
    io,
    options,
    await done(id ? muster.PUT(ofOrganization, { params, body }) : muster.PUT(ofPartner, { body })),
  );
}

/** Each field with what is in force and who decided it; one that the partner locks is named once more. */
function showSettings(io: Io, options: Globals, { fields, ...others }: Settings): void {
  if (options.json) return void show(io, options, { fields, ...others });
  const rows = Object.entries(fields).map(([field, of]) => ({ field, ...of }));
  io.stdout.write(`${tableWriter(["field", "value", "effective", "source"])(rows)}\n`);
  show(io, options, others);
  const locked = rows.filter(({ value, lockedBy }) => value !== null && lockedBy !== null);
  if (locked.length === 0) return;
  const names = locked.map(({ field }) => field).join(", ");
  io.stderr.write(`The partner has set ${names}: the organization's own counts once the partner unsets it.\n`);
}
