import { run } from "./run.ts";

/** Runs the command of this process's arguments and sets its exit code. */
export async function start(): Promise<void> {
  const { env, stdin, stdout, stderr } = process;
  // `muster get … | head` has read enough.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(0);
  });
  process.exitCode = await run(process.argv.slice(2), { env, stdin, stdout, stderr });
  // An unanswered prompt keeps standard input open.
  if (!stdin.isTTY) stdin.destroy();
}
