/** A failure that the person at the terminal can cure: its text says what is wrong and what to do, without a stack. */
export class Problem extends Error {
  /** The exit code of a program that ends by it; 10: a full disk, 11: a port that is taken. */
  readonly status: number;

  constructor(message: string, options: { cause?: unknown; status?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Problem";
    this.status = options.status ?? 1;
  }
}
