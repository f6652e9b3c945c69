/** Exit codes of `npm run release`, by what was wrong. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  exists: 3,
  dirty: 4,
  changelog: 5,
  version: 6,
  tool: 7,
  download: 8,
  changed: 9,
  disk: 10,
};

/** What ends a release with a sentence and an exit code of its own. */
export class Refusal extends Error {
  /**
   * @param {keyof typeof exitCodes} reason
   * @param {string} message
   */
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

/** The exit code of what was thrown; a disk that is full is one, wherever it was met. */
export function exitCodeOf(error) {
  if (error instanceof Refusal) return exitCodes[error.reason];
  return error?.code === "ENOSPC" || error?.code === "EDQUOT" ? exitCodes.disk : exitCodes.failed;
}
