import { run } from "./run.ts";

// `muster get … | head` has read enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

const { env, stdin, stdout, stderr } = process;
process.exitCode = await run(process.argv.slice(2), { env, stdin, stdout, stderr });
// An unanswered prompt keeps standard input open.
if (!stdin.isTTY) stdin.destroy();
