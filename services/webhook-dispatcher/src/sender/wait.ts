/** A wait of one loop, which ends early when its condition is met. */
export class Wait {
  readonly #stopping: AbortSignal;
  #check: () => void = () => undefined;

  /** `stopping` ends the present wait and all later ones, once `check` is called. */
  constructor(stopping: AbortSignal) {
    this.#stopping = stopping;
  }

  /** The condition may be met now. */
  check(): void {
    this.#check();
  }

  /** Waits until `until` returns true, at most `ms`. */
  until(until: () => boolean, ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const isOver = () => until() || this.#stopping.aborted;
      if (isOver()) return resolve();
      const timer = setTimeout(resolve, ms);
      this.#check = () => {
        if (!isOver()) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
