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
  /** Another version is in place: start it now. */
  restart: 75,
} as const;

/** Ends the program with one line on standard error. */
export class AgentError extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, message: string) {
    super(message);
    this.name = "AgentError";
    this.exitCode = exitCode;
  }
}
