import type { MusterClient } from "@muster/client";
import type { Credentials } from "./credentials.ts";
import type { Io } from "./io.ts";

/** Tells a platform administrator, once for each, of a newer release that the operator's feed names. */
export async function tellNewerRelease(io: Io, muster: MusterClient, credentials: Credentials): Promise<void> {
  const { data } = await muster.GET("/api/v1/platform/status");
  const newer = data?.newerRelease;
  if (!newer || !(await credentials.announceOnce(newer.version))) return;
  io.stderr.write(`muster: release ${newer.version} is newer than this platform's ${data.version}`);
  io.stderr.write(newer.url === null ? "\n" : `: ${newer.url}\n`);
}
