import { spawn } from "node:child_process";

/**
 * Waits for the end of its input, which is that of the supervisor, then ends the process whose pid is in the file, now
 * or within the next seconds (it may just be starting), when its command line holds the marker. A shell, since two more
 * Node processes would cost 80 MB to wait for what hardly ever happens.
 */
const script = `
pid_file=$1 signal=$2 marker=$3
ours() {
  pid=$(head -n 1 "$pid_file" 2>/dev/null) && [ -n "$pid" ] || return 1
  case "$(tr '\\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || ps -o command= -p "$pid")" in *"$marker"*) ;; *) return 1 ;; esac
}
while read -r line; do :; done
for try in 1 2 3 4 5; do
  if ours; then
    kill -s "$signal" "$pid"
    for wait in 1 2 3 4 5 6 7 8 9 10; do ours || exit 0; sleep 1; done
    kill -s KILL "$pid"
    exit 0
  fi
  sleep 1
done
`;

export type Guard = { pid: number; stop(): void };

/**
 * Ends a server that cannot hold a channel to the supervisor (PostgreSQL, NATS) when the supervisor was killed; `stop`
 * ends the guard alone.
 */
export function startGuard(options: { pidFile: string; signal: "INT" | "TERM"; marker: string }): Guard {
  const { pidFile, signal, marker } = options;
  const child = spawn("/bin/sh", ["-c", script, "muster-guard", pidFile, signal, marker], {
    cwd: "/",
    env: { PATH: process.env.PATH },
    // What kills the supervisor's group must not reach it.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.once("error", (error) => process.emitWarning(`${marker} would outlive this process: ${error.message}`));
  child.stdin.on("error", () => undefined);
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return { pid: child.pid ?? 0, stop: () => void child.kill("SIGKILL") };
}
