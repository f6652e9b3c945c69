import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { show } from "./records.ts";

const sources = ["github", "directory"] as const;
export type SyncOptions = Globals & { release?: string };

/** Registers a version from a release source. */
export async function sync(io: Io, source: string, options: SyncOptions): Promise<void> {
  const named = sources.find((each) => each === source);
  if (!named) throw wrongUsage(`a source is one of ${sources.join(", ")}`);
  const query = options.release === undefined ? {} : { version: options.release };
  const init = { params: { path: { source: named }, query } };
  show(io, options, await done(connect(io, options).muster.POST("/api/v1/agent-versions/sync-{source}", init)));
}

const components = ["agent", "watchdog", "helper"] as const;
export type PromoteOptions = Globals & { component?: string };

/** Makes a version the fleet's target, of one component or of all. */
export async function promote(io: Io, version: string, options: PromoteOptions): Promise<void> {
  const component = components.find((each) => each === options.component);
  if (options.component !== undefined && !component) {
    throw wrongUsage(`--component is one of ${components.join(", ")}`);
  }
  const body = { version, ...(component ? { component } : {}) };
  show(io, options, await done(connect(io, options).muster.POST("/api/v1/agent-versions/promote", { body })));
}

/** Stops offering a version. */
export async function yank(io: Io, id: string, options: Globals): Promise<void> {
  const init = { params: { path: { id } } };
  show(io, options, await done(connect(io, options).muster.POST("/api/v1/agent-versions/{id}/yank", init)));
}
