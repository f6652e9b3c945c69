import type { MusterClient } from "@muster/client";
import { connect } from "../connection.ts";
import { done } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { tellNewerRelease } from "../newer-release.ts";
import { tableWriter } from "../table.ts";

export type StatusOptions = Globals & { org?: string };

const idsMax = 100;

/** Shows what needs attention, the worst first; nothing on standard output when nothing does. */
export async function status(io: Io, options: StatusOptions): Promise<void> {
  const { muster, credentials } = connect(io, options);
  const query = options.org === undefined ? {} : { orgId: options.org };
  const found = await done(muster.GET("/api/v1/attention", { params: { query } }));
  if (options.json) return void io.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  await tellNewerRelease(io, muster, credentials);
  const { data, cutKinds, unknownKinds } = found;
  if (unknownKinds.length > 0) io.stderr.write(`muster: not known now: ${unknownKinds.join(", ")}\n`);
  if (data.length === 0) return void (unknownKinds.length === 0 && io.stderr.write("Nothing needs attention\n"));
  // Keys may not ask for names, and belong to one organization.
  const names = io.env.MUSTER_API_KEY ? new Map<string, string>() : await namesOf(muster, data);
  const rows = data.map(({ kind, record, orgId, count, since, sentence }) => ({
    kind,
    record: record?.name ?? `${count} records`,
    id: record?.id ?? null,
    organization: orgId === null ? null : (names.get(orgId) ?? orgId),
    since,
    sentence,
  }));
  io.stdout.write(tableWriter(["kind", "record", "id", "organization", "since", "sentence"])(rows));
  if (cutKinds.length > 0) io.stderr.write(`muster: there are more of ${cutKinds.join(", ")}\n`);
}

/** The names of organizations that the caller may see; the API takes at most a hundred ids. */
async function namesOf(muster: MusterClient, items: readonly { orgId: string | null }[]): Promise<Map<string, string>> {
  const ids = [...new Set(items.flatMap(({ orgId }) => (orgId === null ? [] : [orgId])))];
  const names = new Map<string, string>();
  for (let at = 0; at < ids.length; at += idsMax) {
    const query = { ids: ids.slice(at, at + idsMax) };
    const { data } = await done(muster.GET("/api/v1/names", { params: { query } }));
    for (const { id, name } of data) names.set(id, name);
  }
  return names;
}
