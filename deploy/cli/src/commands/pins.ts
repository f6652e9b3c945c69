import { readFile } from "node:fs/promises";
import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { show } from "./records.ts";

const pinned = ["agent", "watchdog"] as const;

export type PinOptions = Globals & { org?: string; component: string; rollbackNote?: string };

/**
 * Pins a component of an organization, or of the own partner without one, to a version, `latest` or nothing (`none`);
 * the other settings stay. With a rollback note devices that run a newer version go back.
 */
export async function pin(io: Io, version: string, options: PinOptions): Promise<void> {
  const component = pinned.find((each) => each === options.component);
  if (component === undefined) throw wrongUsage(`--component is one of ${pinned.join(", ")}`);
  const { muster } = connect(io, options);
  const ofPartner = "/api/v1/orgs/partners/me/agent-updates";
  const ofOrganization = "/api/v1/orgs/organizations/{id}/agent-updates";
  const params = { path: { id: options.org ?? "" } };
  const { fields } = await done(options.org ? muster.GET(ofOrganization, { params }) : muster.GET(ofPartner));
  const note = options.rollbackNote === undefined ? null : await readFile(options.rollbackNote, "utf8");
  const body = {
    agentTarget: fields.agentTarget.value,
    watchdogTarget: fields.watchdogTarget.value,
    updatePolicy: fields.updatePolicy.value,
    windowDays: fields.windowDays.value,
    windowStart: fields.windowStart.value,
    windowEnd: fields.windowEnd.value,
    [`${component}Target`]: version === "none" ? null : version,
    ...(note === null ? {} : { allowDowngrade: true, rollbackNote: note }),
  };
  show(
    io,
    options,
    await done(options.org ? muster.PUT(ofOrganization, { params, body }) : muster.PUT(ofPartner, { body })),
  );
}
