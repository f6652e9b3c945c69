/** Codes with which the program ends; the watchdog and scripts decide by them. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  config: 3,
  inUse: 4,
  keyRefused: 5,
  credentialLost: 6,
  disk: 7,
  unreachable: 8,
  certificate: 9,
  /** The address is another server's. */
  notPlatform: 10,
  platformFails: 11,
  clock: 12,
  /** Another version is in place: start it now. */
  restart: 75,
} as const;

/** Ends the program with one line on standard error. */
export class AgentError extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AgentError";
    this.exitCode = exitCode;
  }
}

const diskErrors: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the quota of this user is used up",
  EROFS: "the disk is read-only",
  EACCES: "this user may not",
  EPERM: "this user may not",
  EIO: "the disk has an error",
};

/** An error of the disk as one line; null for any other. */
export function diskError(error: unknown): AgentError | null {
  if (!(error instanceof Error) || error instanceof AgentError) return null;
  const { code = "", path = "" } = error as NodeJS.ErrnoException;
  const text = diskErrors[code];
  if (text === undefined) return null;
  return new AgentError(exitCodes.disk, `${text} (${path === "" ? error.message : path})`, { cause: error });
}
