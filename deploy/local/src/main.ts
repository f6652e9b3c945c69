import { onLeftByNpm, shrinkWhenIdle } from "@muster/kit/light";
import { readConfig } from "./config.ts";
import { Problem } from "./problem.ts";
import { Stack } from "./stack.ts";

const say = (line: string) => process.stdout.write(`${line}\n`);
let stack: Stack | undefined;
let stopRequestedAt: number | null = null;

async function end(status: number): Promise<never> {
  try {
    await stack?.stop();
  } catch (error) {
    complain(error);
    status ||= 1;
  }
  process.exit(status);
}

function complain(error: unknown): void {
  process.stderr.write(
    `\n${error instanceof Problem ? error.message : error instanceof Error ? error.stack : error}\n`,
  );
}

/** The first signal stops in order; Ctrl-C once more, later than the copy that npm passes on, at once. */
function onSignal(name: NodeJS.Signals): void {
  const now = performance.now();
  if (stopRequestedAt === null) {
    stopRequestedAt = now;
    say("\nStopping: gateway, services, NATS, PostgreSQL …");
    void end(0);
  } else if (name === "SIGINT" && now - stopRequestedAt > 700) {
    stack?.kill();
    process.exit(130);
  }
}
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
onLeftByNpm("start", () => {
  if (stopRequestedAt === null) onSignal("SIGTERM");
});
// The terminal may be closed (SIGHUP, a broken pipe): the stop must go on although nothing can be printed.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

process.on("uncaughtException", (error) => {
  complain(error);
  void end(1);
});

try {
  const config = readConfig();
  stack = new Stack(config, say);
  say(`Muster: starting, data in ${config.dataDir}`);
  await stack.start();
  shrinkWhenIdle(complain);
} catch (error) {
  // Whatever fails because everything is being stopped is no news.
  if (stopRequestedAt === null) complain(error);
  await end(error instanceof Problem ? error.status : 1);
}
