import { connect } from "../connection.ts";
import { done } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { tableWriter } from "../table.ts";

/** Shows why a device updates or does not, per component, and its newest attempts. */
export async function updateDecision(io: Io, id: string, options: Globals): Promise<void> {
  const { muster } = connect(io, options);
  const found = await done(muster.GET("/api/v1/devices/{id}/update-decision", { params: { path: { id } } }));
  if (options.json) return void io.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  const { components, attempts } = found;
  io.stdout.write(tableWriter(["component", "current", "target", "rule", "detail"])(components));
  if (attempts.length === 0) return;
  io.stdout.write(
    `\n${tableWriter(["component", "version", "fromVersion", "state", "reason", "offeredAt"])(attempts)}`,
  );
}
