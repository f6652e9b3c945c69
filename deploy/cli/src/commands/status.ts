import { connect } from "../connection.ts";
import { done } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { tellNewerRelease } from "../newer-release.ts";
import { tableWriter } from "../table.ts";

export type StatusOptions = Globals & { org?: string };

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
  const rows = data.map(({ kind, record, count, since, sentence }) => ({
    kind,
    record: record?.name ?? `${count} records`,
    id: record?.id ?? null,
    since,
    sentence,
  }));
  io.stdout.write(tableWriter(["kind", "record", "id", "since", "sentence"])(rows));
  if (cutKinds.length > 0) io.stderr.write(`muster: there are more of ${cutKinds.join(", ")}\n`);
}
