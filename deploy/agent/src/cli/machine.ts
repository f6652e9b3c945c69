import { writeDurably } from "../durable.ts";
import { AgentError, exitCodes } from "../exit-codes.ts";
import { machineFacts } from "../hosts/machine-facts.ts";

/** Stores the ids that root alone can read, for an agent of another user. The installer calls it as root. */
export function machine([file]: readonly string[]): number {
  if (!file) throw new AgentError(exitCodes.usage, "machine needs FILE");
  const { hardwareId, serialNumber } = machineFacts("");
  writeDurably(file, JSON.stringify({ hardwareId, serialNumber }));
  return exitCodes.ok;
}
