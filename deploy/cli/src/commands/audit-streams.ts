import { connect } from "../connection.ts";
import { done, exits, Failure } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { visible } from "../table.ts";

/** Sends a stream's newest row once more and shows what its sink answered; fails unless that was accepted. */
export async function testStream(io: Io, id: string, options: Globals): Promise<void> {
  const { muster } = connect(io, options);
  const tried = await done(muster.POST("/api/v1/audit-logs/streams/{id}/test", { params: { path: { id } } }));
  const { accepted, status, error, answer } = tried;
  const head = [accepted ? "accepted" : "not accepted", ...(status === null ? [] : [`HTTP ${status}`])].join(", ");
  if (options.json) io.stdout.write(`${JSON.stringify(tried, null, 2)}\n`);
  else io.stdout.write(`${[head, ...(answer === "" ? [] : [answer])].map(visible).join("\n")}\n`);
  if (!accepted) throw new Failure(exits.failed, `the sink did not accept the row: ${error ?? "no reason"}`);
}
