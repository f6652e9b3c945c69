import { randomInt } from "node:crypto";
import type { RunningStack } from "@muster/local";

/** kill −9 of one of these processes at random; returns its name, and whether it was down already. */
export function killOne(running: RunningStack, isVictim: (name: string) => boolean): string {
  const stack = running.refresh();
  const pids: [string, number | null | undefined][] = [
    ...Object.entries(stack.services).map(([name, { pid }]): [string, number | null] => [name, pid]),
    ["gateway", stack.gateways[0]?.pid],
    ["nats", stack.nats?.pid],
    ["postgresql", stack.postgres?.pid],
  ];
  const alive = pids.filter((entry): entry is [string, number] => isVictim(entry[0]) && Boolean(entry[1]));
  const [name, pid] = alive[randomInt(alive.length)] as [string, number];
  try {
    process.kill(pid, "SIGKILL");
    return name;
  } catch {
    return `${name} (was down)`;
  }
}
