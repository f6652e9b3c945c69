/** A failure that the person at the terminal can cure: its text says what is wrong and what to do, without a stack. */
export class Problem extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Problem";
  }
}
