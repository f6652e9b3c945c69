import { text } from "node:stream/consumers";
import { connect } from "../connection.ts";
import { done, exits, Failure, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";

const actions = ["approve", "merge", "reject"] as const;
type Action = (typeof actions)[number];
/** The API takes at most as many in one call. */
const perCall = 500;

/**
 * Approves, merges or rejects quarantined devices, and names each with its outcome. Throws a Failure when one of them
 * was refused; the others are done.
 */
export async function reviewDevices(io: Io, typed: string, named: readonly string[], options: Globals): Promise<void> {
  const action = actionOf(typed);
  const ids = named.length > 0 ? named : (await text(io.stdin)).split(/\s+/).filter((id) => id !== "");
  if (ids.length === 0) throw wrongUsage("no ids, neither as arguments nor on standard input");
  if (action !== "approve" && io.stdin.isTTY !== true && !options.yes) {
    throw wrongUsage(`${action} decommissions devices: without a terminal it needs --yes`);
  }
  const { muster } = connect(io, options, ["POST /api/v1/devices/bulk-review"]);
  await inCalls(io, options, { ids, perCall }, (deviceIds) =>
    done(muster.POST("/api/v1/devices/bulk-review", { body: { deviceIds, action } })),
  );
}

type Outcome = { id: string; code: string | null; error: string | null };

/**
 * Sends devices, as many in a call as the API takes, and names each with its outcome. Throws a Failure when one of them
 * was refused; the others are done.
 */
export async function inCalls(
  io: Io,
  { json }: Globals,
  { ids, perCall }: { ids: readonly string[]; perCall: number },
  send: (deviceIds: string[]) => Promise<{ results: readonly Outcome[] }>,
): Promise<void> {
  const results: Outcome[] = [];
  for (let at = 0; at < ids.length; at += perCall) results.push(...(await send(ids.slice(at, at + perCall))).results);
  const lines = results.map(({ id, code, error }) => `${id} ${code === null ? "done" : `${code}: ${error}`}\n`);
  io.stdout.write(json ? `${JSON.stringify(results, null, 2)}\n` : lines.join(""));
  const refused = results.filter(({ code }) => code !== null);
  if (refused.length === 0) return;
  const hint = refused.some(({ code }) => code === "permission_denied")
    ? "; merge, reject and decommission need the permission devices:delete"
    : "";
  throw new Failure(exits.failed, `${refused.length} of ${results.length} were refused${hint}`);
}

function actionOf(typed: string): Action {
  const action = actions.find((each) => each === typed);
  if (action === undefined) throw wrongUsage(`"${typed}" is none of ${actions.join(", ")}`);
  return action;
}
