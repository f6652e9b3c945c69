import type { Certificates } from "./certificates.ts";
import { type Instance, rpcUrl } from "./programs.ts";
import { isWorker } from "./replicas.ts";

/** What `<data>/stack.json` says about a running cluster, for tests and tools. */
export type StackFile = {
  gateways: { url: string; pid: number | null; ops: string }[];
  /** The umbrella role of all schemas. */
  databaseUrl: string;
  natsUrl: string;
  services: Record<string, { pid: number | null; rpc: string; ops: string }>;
  /** Processes that serve no RPC. */
  workers: Record<string, { pid: number | null; ops: string }>;
  /** Null where a server of the person's own is used. */
  postgres: { pid: number | null } | null;
  nats: { pid: number | null } | null;
  /** All servers of a NATS cluster, the one above first; with one server that alone. */
  natsServers: { pid: number | null }[];
  pgbouncer: { pid: number | null } | null;
  /** What to reach an RPC port with; null: no TLS. */
  tls: { ca: string; cert: string; key: string } | null;
  supervisor: { pid: number };
  dataDir: string;
};

export function describeStack(input: {
  host: string;
  instances: readonly Instance[];
  pidOf: (name: string) => number | null;
  databaseUrl: string;
  natsUrl: string;
  ownPostgres: boolean;
  ownNats: boolean;
  natsServers: readonly string[];
  pooled: boolean;
  certificates: Certificates | null;
  dataDir: string;
}): StackFile {
  const { instances, pidOf } = input;
  const ops = (instance: Instance) => `http://127.0.0.1:${instance.opsPort}`;
  const gateways = instances.filter(({ program }) => program === "gateway");
  const services = instances.filter(({ program }) => program !== "gateway" && !isWorker(program));
  const workers = instances.filter(({ program }) => isWorker(program));
  return {
    gateways: gateways.map((each) => ({
      url: gatewayUrl(input.host, each.port),
      pid: pidOf(each.name),
      ops: ops(each),
    })),
    databaseUrl: input.databaseUrl,
    natsUrl: input.natsUrl,
    services: Object.fromEntries(
      services.map((each) => [
        each.name,
        { pid: pidOf(each.name), rpc: rpcUrl(each.port, input.certificates !== null), ops: ops(each) },
      ]),
    ),
    workers: Object.fromEntries(workers.map((each) => [each.name, { pid: pidOf(each.name), ops: ops(each) }])),
    postgres: input.ownPostgres ? { pid: pidOf("postgres") } : null,
    nats: input.ownNats ? { pid: pidOf("nats") } : null,
    natsServers: input.natsServers.map((name) => ({ pid: pidOf(name) })),
    pgbouncer: input.pooled ? { pid: pidOf("pgbouncer") } : null,
    tls: input.certificates ? { ca: input.certificates.ca, ...input.certificates.of("gateway") } : null,
    supervisor: { pid: process.pid },
    dataDir: input.dataDir,
  };
}

/** Where this machine reaches a gateway that listens on `host`. */
export function gatewayUrl(host: string, port: number): string {
  const address = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host.includes(":") ? `[${host}]` : host;
  return `http://${address}:${port}`;
}

/** Address shown to users: by name where it is this machine, since browsers create passkeys for names only. */
export function publicUrl(host: string, port: number): string {
  return /^(0\.0\.0\.0|127\.\d+\.\d+\.\d+|::|::1|localhost)$/.test(host)
    ? `http://localhost:${port}`
    : gatewayUrl(host, port);
}
