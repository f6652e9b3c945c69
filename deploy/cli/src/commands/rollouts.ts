import { connect } from "../connection.ts";
import { done } from "../failure.ts";
import { isObject } from "../fields.ts";
import type { Globals, Io } from "../io.ts";
import { recordText, tableWriter } from "../table.ts";
import { type BodyOptions, bodyFrom, call, show } from "./records.ts";

/** Pauses, completes or cancels a rollout. */
export async function changeRollout(
  io: Io,
  change: "pause" | "complete" | "cancel",
  id: string,
  options: Globals,
): Promise<void> {
  const init = { params: { path: { id } } };
  const { muster } = connect(io, options);
  show(io, options, await done(muster.POST(`/api/v1/agent-versions/rollouts/{id}/${change}`, init)));
}

export type ResumeOptions = Globals & { acceptFailures?: boolean };

/** Lets a rollout go on. */
export async function resumeRollout(io: Io, id: string, options: ResumeOptions): Promise<void> {
  const init = { params: { path: { id } }, body: options.acceptFailures ? { acceptFailures: true } : {} };
  const { muster } = connect(io, options);
  show(io, options, await done(muster.POST("/api/v1/agent-versions/rollouts/{id}/resume", init)));
}

const preview = "/api/v1/agent-versions/rollouts/preview";

/** Counts the devices of rings, before a rollout starts. */
export async function previewRings(io: Io, fields: readonly string[], options: BodyOptions): Promise<void> {
  const body = await bodyFrom(io, `POST ${preview}`, fields, options);
  const { rings } = await call(connect(io, options).muster, "POST", preview, { body });
  if (options.json) return void io.stdout.write(`${JSON.stringify(rings, null, 2)}\n`);
  io.stdout.write(tableWriter(["name", "devices", "ownDevices"])(Array.isArray(rings) ? rings.filter(isObject) : []));
}

/** Shows how far a rollout is, wave by wave, and why it is halted. */
export async function rolloutProgress(io: Io, id: string, options: Globals): Promise<void> {
  const init = { params: { path: { id } } };
  const { muster } = connect(io, options);
  const progress = await done(muster.GET("/api/v1/agent-versions/rollouts/{id}/progress", init));
  if (options.json) return void io.stdout.write(`${JSON.stringify(progress, null, 2)}\n`);
  const { component, version, state, reason, inFlight, succeeded, failed, budget } = progress.rollout;
  io.stdout.write(recordText({ component, version, state, reason, inFlight, succeeded, failed, budget }));
  const columns = ["name", "isOpen", "devices", "offered", "inFlight", "succeeded", "failed"];
  if (progress.waves.length > 0) io.stdout.write(`\n${tableWriter(columns)(progress.waves)}`);
  const { haltedParts } = progress.rollout;
  const parts = haltedParts.map(({ orgId, platform, ...part }) => ({ haltedFor: platform ?? orgId, ...part }));
  if (parts.length > 0) io.stdout.write(`\n${tableWriter(["haltedFor", "failed", "succeeded", "reason"])(parts)}`);
}
