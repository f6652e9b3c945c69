import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { show } from "./records.ts";

export type TokenOptions = Globals & { grace: string };

/** A new token of a directory; it is in what is shown, this once. */
export async function rotateToken(io: Io, id: string, options: TokenOptions): Promise<void> {
  const graceHours = Number(options.grace);
  if (!Number.isInteger(graceHours) || graceHours < 0) {
    throw wrongUsage(`--grace takes whole hours, not "${options.grace}"`);
  }
  const init = { params: { path: { id } }, body: { graceHours } };
  show(io, options, await done(connect(io, options).muster.POST("/api/v1/directories/{id}/tokens", init)));
  if (!options.json) io.stderr.write("Store this token now: it cannot be shown again.\n");
}

/** Ends all tokens of a directory at once. */
export async function revokeTokens(io: Io, id: string, options: Globals): Promise<void> {
  const { muster } = connect(io, options);
  await done(muster.DELETE("/api/v1/directories/{id}/tokens", { params: { path: { id } } }));
  if (!options.json) io.stderr.write(`Revoked all tokens of ${id}\n`);
}

/** Pauses a directory, or lets it go on. */
export async function setStatus(io: Io, id: string, status: "active" | "paused", options: Globals): Promise<void> {
  const init = { params: { path: { id } }, body: { status } };
  show(io, options, await done(connect(io, options).muster.POST("/api/v1/directories/{id}/status", init)));
}
