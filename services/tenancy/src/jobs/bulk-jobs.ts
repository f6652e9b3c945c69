import type { Database, Tx } from "@muster/db";
import { AppError, keepWorking, type Logger, ownMeta, type Repeating, systemCaller } from "@muster/kit";
import { fromClaims } from "@muster/rpc";
import { approveIn, rejectIn } from "../commands/approve-device.ts";
import { changeDevice, decommissionDevice } from "../commands/change-device.ts";
import type { DeviceContext } from "../emits/device.ts";
import { withFailure } from "../rules/bulk-job.ts";
import { type ClaimedJob, claimJob, isAnyJobOpen, lockFailures, passDevice, releaseJob } from "../store/bulk-jobs.ts";

const everyMs = 1_000;
/** Devices of one job before the next one. */
const sliceDevices = 100;
/** A process that was killed holds its job that long. */
const claimSeconds = 10;

/** Failures that pass: the device is tried again. */
const passing: readonly string[] = ["overloaded", "unavailable", "deadline_exceeded"];

type Deps = { db: Database; log: Logger; now: () => Date };

/** Works on open jobs, a slice of each in the order in which they wait; returns how many devices it passed. */
export async function workOnJobs(deps: Deps, signal: AbortSignal): Promise<number> {
  const who = { caller: systemCaller("tenancy") };
  for (let total = 0; ; ) {
    const isAny = !signal.aborted && (await isAnyJobOpen(deps.db, who));
    const job = isAny ? await deps.db.tx(who, (tx) => claimJob(tx, claimSeconds, sliceDevices)) : null;
    if (job === null) return total;
    try {
      total += await workOn(deps, job, signal);
    } finally {
      await deps.db.tx(who, (tx) => releaseJob(tx, job.id));
    }
  }
}

async function workOn(deps: Deps, job: ClaimedJob, signal: AbortSignal): Promise<number> {
  const { requestId, ...client } = { ...ownMeta(), ...job.meta };
  const meta = { ...client, requestId };
  const context = { caller: fromClaims(job.caller), meta, deadlineMs: null, signal, bulkJobId: job.id };
  let changed = 0;
  for (const deviceId of job.device_ids) {
    if (signal.aborted || !(await changeNext(deps, context, { ...job, position: job.position + changed }, deviceId)))
      break;
    changed++;
  }
  return changed;
}

/** Changes one device, or notes why it was refused; false when the job is no longer this process's. */
async function changeNext(
  { db, log, now }: Deps,
  context: DeviceContext,
  job: ClaimedJob,
  id: string,
): Promise<boolean> {
  try {
    const change = async (tx: Tx) => {
      const isOurs = await passDevice(tx, job, null);
      if (isOurs) await act(tx, context, job, id, now());
      return isOurs;
    };
    return await db.tx(context, change, { retry: true });
  } catch (thrown) {
    if (thrown instanceof AppError && passing.includes(thrown.code)) throw thrown;
    if (!(thrown instanceof AppError)) log.error({ err: thrown, jobId: job.id, deviceId: id }, "bulk job failed");
    const error = thrown instanceof AppError ? thrown : new AppError("internal", "Internal server error");
    return db.tx(context, async (tx) => passDevice(tx, job, withFailure(await lockFailures(tx, job.id), error, id)));
  }
}

function act(tx: Tx, context: DeviceContext, { action, change }: ClaimedJob, id: string, at: Date): Promise<unknown> {
  switch (action) {
    case "update":
      return changeDevice(tx, context, id, change, at);
    case "decommission":
      return decommissionDevice(tx, context, id, at);
    case "approve":
    case "merge":
      return approveIn(tx, context, { id, replace: false, merge: action === "merge" }, at);
    case "reject":
      return rejectIn(tx, context, id, at);
  }
}

/** Polls every second, until stopped; a job of a process that ended is continued by another one after 10 s. */
export function startBulkJobs(deps: Deps): Repeating {
  return keepWorking(
    everyMs,
    (signal) => workOnJobs(deps, signal),
    (err) => deps.log.warn({ err }, "bulk jobs wait"),
  );
}
