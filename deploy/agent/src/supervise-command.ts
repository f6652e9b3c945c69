import type { Stopping } from "@muster/agent";
import type { Config } from "./config.ts";
import { exitCodes } from "./exit-codes.ts";
import { prepareFolder } from "./identity-file.ts";
import { supervise } from "./install/supervise.ts";
import { createLogger } from "./logger.ts";
import { pathsOf } from "./paths.ts";
import { millisecondsOf } from "./test-times.ts";

/** The watchdog as a process. */
export function superviseCommand(config: Config, stopping: Stopping): Promise<number> {
  const paths = pathsOf(config);
  prepareFolder(paths.stateFolder);
  const log = createLogger({ file: paths.log, level: config.logLevel });
  // Another version of the watchdog is in place: the agent goes on without one for a moment.
  process.once("SIGUSR2", () => process.exit(exitCodes.restart));
  const proofMs = millisecondsOf("MUSTER_AGENT_PROOF_SECONDS");
  const waitMaxMs = millisecondsOf("MUSTER_AGENT_WAIT_SECONDS");
  return supervise({ paths, log, stopping, proofMs, waitMaxMs });
}
