// What a test file may change beyond its own modules: the process, and registries that packages keep.
import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { register } from "prom-client";

const events = ["SIGINT", "SIGTERM", "SIGHUP", "disconnect", "warning"];

/** Call it before a test file: the function that it returns restores the worker's present state. */
export function saveProcessState() {
  const env = { ...process.env };
  const { exitCode } = process;
  const cwd = process.cwd();
  const listeners = events.map((name) => [name, new Set(process.rawListeners(name))]);
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    for (const [name, value] of Object.entries(env)) if (process.env[name] !== value) process.env[name] = value;
    if (process.cwd() !== cwd) process.chdir(cwd);
    process.exitCode = exitCode;
    for (const [name, found] of listeners) {
      for (const listener of process.rawListeners(name)) {
        if (!found.has(listener)) process.removeListener(name, listener);
      }
    }
    register.clear();
    for (const api of [trace, context, propagation, metrics]) api.disable();
  };
}
