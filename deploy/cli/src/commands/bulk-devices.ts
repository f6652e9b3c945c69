import { setTimeout as sleep } from "node:timers/promises";
import type { MusterClient, paths } from "@muster/client";
import { connect } from "../connection.ts";
import { done, exits, Failure, wrongUsage } from "../failure.ts";
import { idAndFilters, isObject, type JsonObject } from "../fields.ts";
import type { Globals, Io } from "../io.ts";
import { resourceOf } from "../resources.ts";
import { call, confirm, show } from "./records.ts";
import { inCalls, reviewDevices } from "./review-devices.ts";

const path = "/api/v1/devices/bulk-jobs/{id}";
const pollMs = 1_000;

export type BulkOptions = Globals & { org?: string; site?: string; autoUpdate?: string };
export type JobOptions = Globals & { cancel?: boolean };
type BulkJob = paths[typeof path]["get"]["responses"]["200"]["content"]["application/json"];

/**
 * Changes the devices that are named; else starts a job for all devices that match, and shows its progress until it
 * ends; interrupted, the job goes on. Asks at a terminal first. Throws a Failure when a device was refused; the others
 * are done.
 */
export async function bulkDevices(io: Io, action: string, args: readonly string[], options: BulkOptions) {
  const chosen = args.filter((each) => !each.includes("="));
  if (chosen.length > 0) {
    if (chosen.length < args.length || options.org) throw wrongUsage("either ids, or --org and filters NAME=VALUE");
    return changeChosen(io, action, chosen, options);
  }
  const { filters } = idAndFilters(args, resourceOf("devices", "list").filters);
  if (Object.hasOwn(filters, "sort")) throw wrongUsage("a job has no order: leave sort out");
  if (io.stdin.isTTY !== true && !options.yes) throw wrongUsage("without a terminal it needs --yes");
  const filter = { ...(options.org ? { orgId: options.org } : {}), ...filters };
  const change = changeOf(options);
  const { muster } = connect(io, options, ["POST /api/v1/devices/bulk-jobs"]);
  const query = { ...filter, limit: "1" };
  const { pagination } = await call(muster, "GET", "/api/v1/devices", { params: { query } });
  const total = isObject(pagination) ? Number(pagination.total) : 0;
  if (total === 0) throw new Failure(exits.missing, "no device matches");
  await confirm(io, options, `${action} ${total} devices?`);
  const body = { filter, expectedCount: total, action, ...(change ? { change } : {}) };
  const started = await call(muster, "POST", "/api/v1/devices/bulk-jobs", { body });
  const job = await endOf(io, muster, String(started.id));
  show(io, options, job);
  if (job.failed > 0) throw new Failure(exits.failed, `${job.failed} of ${job.total} were refused`);
}

/** The API takes at most as many in one call. */
const perCall = 100;

/** Changes the devices that are named, and names each with its outcome. */
async function changeChosen(io: Io, action: string, ids: readonly string[], options: BulkOptions): Promise<void> {
  if (!["update", "decommission"].includes(action)) return reviewDevices(io, action, ids, options);
  const change = action === "update" ? changeOf(options) : null;
  if (action === "update" && change === null) throw wrongUsage("an update takes --site or --auto-update");
  if (io.stdin.isTTY !== true && !options.yes) throw wrongUsage("without a terminal it needs --yes");
  const { muster } = connect(io, options);
  await confirm(io, options, `${action} ${ids.length} devices?`);
  const send = (deviceIds: string[]) =>
    change
      ? muster.POST("/api/v1/devices/bulk-update", { body: { deviceIds, change } })
      : muster.POST("/api/v1/devices/bulk-decommission", { body: { deviceIds } });
  await inCalls(io, options, { ids, perCall }, (deviceIds) => done(send(deviceIds)));
}

/** Shows a job, or cancels it. */
export async function bulkJob(io: Io, id: string, options: JobOptions): Promise<void> {
  const { muster } = connect(io, options);
  const params = { path: { id } };
  if (options.cancel) await done(muster.DELETE(path, { params }));
  show(io, options, await done(muster.GET(path, { params })));
}

function changeOf({ site, autoUpdate }: BulkOptions): JsonObject | null {
  if (autoUpdate !== undefined && !["on", "off"].includes(autoUpdate))
    throw wrongUsage("--auto-update takes on or off");
  if (site === undefined && autoUpdate === undefined) return null;
  return {
    ...(site === undefined ? {} : { siteId: site === "none" ? null : site }),
    ...(autoUpdate === undefined ? {} : { autoUpdateEnabled: autoUpdate === "on" }),
  };
}

async function endOf(io: Io, muster: MusterClient, id: string): Promise<BulkJob> {
  for (let shown = ""; ; await sleep(pollMs)) {
    const job = await done(muster.GET(path, { params: { path: { id } } }));
    const text = `job ${id}: ${job.status}, ${job.done} of ${job.total} done, ${job.failed} refused\n`;
    if (text !== shown) io.stderr.write(text);
    shown = text;
    if (job.status === "done" || job.status === "cancelled") return job;
  }
}
