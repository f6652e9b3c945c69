import { profilesOf } from "../connection.ts";
import { wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { tableWriter } from "../table.ts";

/** The named deployments, with who is signed in at each. */
export function listProfiles(io: Io, options: Globals): void {
  const rows = profilesOf(io);
  if (options.json) return void io.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  if (rows.length === 0) return void io.stderr.write("None: `muster login --profile NAME --url ADDRESS` makes one.\n");
  io.stdout.write(tableWriter(["name", "url", "email", "current"])(rows));
}

/** Commands without `--profile`, `--url` and their variables are about this one from now on. */
export async function useProfile(io: Io, name: string): Promise<void> {
  const profile = profilesOf(io).find((each) => each.name === name);
  if (!profile) throw wrongUsage(`no profile "${name}": \`muster profiles\` lists them`);
  await profile.use();
  io.stderr.write(`Commands are about ${profile.url} now\n`);
}
