import { type ServiceName, serviceNames } from "@muster/kit/light";
import { Problem } from "./problem.ts";

export { type ServiceName, serviceNames };

/** Additional processes that run a service's code as another database role, without RPC port and message bus. */
export const workers = {
  "audit-retention": { service: "audit", duty: "pruner", script: "retention-main.js" },
} as const;
export type WorkerName = keyof typeof workers;
export const workerNames = Object.keys(workers) as WorkerName[];
export const isWorker = (name: string): name is WorkerName => Object.hasOwn(workers, name);

export type ProgramName = ServiceName | WorkerName | "gateway";
export const programNames: readonly ProgramName[] = [...serviceNames, ...workerNames, "gateway"];
/** Programs that call others: they sign caller tokens and have a user at NATS. */
export const speakerNames = [...serviceNames, "gateway"] as const;
export type SpeakerName = (typeof speakerNames)[number];
export type Replicas = Record<ProgramName, number>;

const most = 16;

/** Parses `gateway=2,webhook-dispatcher=3`; names left out run once. Throws a `Problem` that names the bad item. */
export function parseReplicas(text: string): Replicas {
  const replicas = Object.fromEntries(programNames.map((name) => [name, 1])) as Replicas;
  for (const item of text.split(",").map((part) => part.trim())) {
    if (item === "") continue;
    const [, name, count] = /^([a-z-]+)\s*=\s*(\d+)$/.exec(item) ?? [];
    const program = programNames.find((each) => each === name);
    if (!program || Number(count) < 1 || Number(count) > most) {
      throw new Problem(
        `MUSTER_REPLICAS: "${item}" is not understood. Write name=count, count from 1 to ${most}, name one of ${programNames.join(", ")}.`,
      );
    }
    replicas[program] = Number(count);
  }
  return replicas;
}

/** Names of one program's processes: `audit`, `audit-2`, `audit-3` … */
export function replicaNames(program: ProgramName, count: number): string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? program : `${program}-${index + 1}`));
}
