import { MusterError } from "@muster/client";
import { CommanderError } from "commander";
import { runProgram } from "./external.ts";
import { exits, Failure, refusal, textOf } from "./failure.ts";
import type { Io } from "./io.ts";
import { programOf } from "./program.ts";

/** Runs one command; resolves to the exit code (docs/cli.md#exit-codes). Whatever went wrong is on standard error. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const [first, ...rest] = args;
  // These parse their own arguments.
  if ((first === "release" || first === "cluster") && rest[0] !== undefined && !/^(-h|--help)$/.test(rest[0])) {
    return runProgram(first, rest);
  }
  try {
    await programOf(io).parseAsync(args.length > 0 ? args : ["--help"], { from: "user" });
    return 0;
  } catch (error) {
    // Help and usage are printed by then.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exits.usage;
    const failure = error instanceof MusterError ? refusal(error.status, error.body) : error;
    if (!(failure instanceof Failure)) throw error;
    if (failure.message !== "")
      io.stderr.write(args.includes("--json") && failure.body ? `${JSON.stringify(failure.body)}\n` : textOf(failure));
    return failure.exitCode;
  }
}
