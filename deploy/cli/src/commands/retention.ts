import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { show } from "./records.ts";

export type RetentionOptions = Globals & { org?: string; days?: string; archive?: string };

/** Shows how long an organization's audit rows are kept; with `--days` or `--archive` it changes that first. */
export async function retention(io: Io, { org, days, archive, ...options }: RetentionOptions): Promise<void> {
  const retentionDays = days === undefined ? null : Number(days);
  if (retentionDays !== null && !Number.isInteger(retentionDays)) {
    throw wrongUsage(`--days takes a whole number, not "${days}"`);
  }
  if (archive !== undefined && !["on", "off"].includes(archive)) throw wrongUsage("--archive takes on or off");
  const { muster } = connect(io, options);
  const path = "/api/v1/audit-logs/retention";
  const owner = org ? { orgId: org } : {};
  if (retentionDays === null && archive === undefined) {
    return show(io, options, await done(muster.GET(path, { params: { query: owner } })));
  }
  const body = {
    ...owner,
    ...(retentionDays === null ? {} : { retentionDays }),
    ...(archive === undefined ? {} : { archiveToS3: archive === "on" }),
  };
  show(io, options, await done(muster.PATCH(path, { body })));
}
