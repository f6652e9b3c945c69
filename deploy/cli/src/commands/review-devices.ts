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
  const results = [];
  for (let at = 0; at < ids.length; at += perCall) {
    const body = { deviceIds: ids.slice(at, at + perCall), action };
    results.push(...(await done(muster.POST("/api/v1/devices/bulk-review", { body }))).results);
  }
  showOutcomes(io, results, options);
}

type Outcome = { id: string; code: string | null; error: string | null };

/** Names each device with its outcome; throws a Failure when one of them was refused. */
export function showOutcomes(io: Io, results: readonly Outcome[], { json }: Globals): void {
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
