export type Check = () => Promise<string> | string;

/**
 * Whether this process takes work. Ready = started, schema right, not draining. What it depends on never flips it: a
 * blip of NATS must not take every pod out of service; dependencies show in `/readyz?verbose` only.
 */
export class Readiness {
  #state: "starting" | "ready" | "draining" = "starting";
  #checks = new Map<string, Check>();
  #listeners = new Set<(ready: boolean) => void>();

  get ready(): boolean {
    return this.#state === "ready";
  }

  get state(): string {
    return this.#state;
  }

  set(state: "ready" | "draining"): void {
    this.#state = state;
    for (const listener of this.#listeners) listener(this.ready);
  }

  onChange(listener: (ready: boolean) => void): void {
    this.#listeners.add(listener);
  }

  /** Resolves once the start is over, or after `ms`. */
  async started(ms: number): Promise<void> {
    if (this.#state !== "starting") return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#listeners.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#listeners.add(end);
    });
  }

  /** Adds a dependency; the check returns "ok" or the problem in words. */
  addCheck(name: string, check: Check): void {
    this.#checks.set(name, check);
  }

  async verbose(): Promise<Record<string, string>> {
    const entries = [...this.#checks].map(async ([name, check]) => {
      try {
        return [name, await check()] as const;
      } catch (error) {
        return [name, error instanceof Error ? error.message : String(error)] as const;
      }
    });
    return Object.fromEntries(await Promise.all(entries));
  }
}
