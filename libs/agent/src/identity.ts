/** An agent's identity, and what it received and learned since it enrolled. Its host stores it. */
export type AgentIdentity = {
  hostname: string;
  os: "windows" | "linux" | "darwin";
  arch: "amd64" | "arm64" | "386";
  /** C library of a Linux machine; absent: not known. */
  libc?: "gnu" | "musl";
  hardwareId: string;
  serialNumber: string;
  agentId: string | null;
  orgId: string | null;
  token: string | null;
  /** The token before: valid until the first use of `token`. */
  oldToken?: string;
  /** Seconds between heartbeats, as the server said when it enrolled. */
  intervalSeconds: number | null;
  /** What it runs. */
  versions: { agent: string; watchdog?: string; helper?: string };
  /** The highest counter of the manifests that it installed, by component. */
  counters?: Record<string, number>;
  /** Keys of releases that it learned of since it was built. */
  root?: { number: number; keys: string[] };
};
