import { Worker } from "node:worker_threads";
import { AppError, createRoundRobin, histogram } from "@muster/kit";
import type { AssertionFacts } from "../../rules/sso/saml/assertion-error.ts";
import { SamlRefused, SamlStatus } from "../../rules/sso/saml/refused.ts";
import type { Verification } from "./verify-response.ts";

/** What the worker answers (saml-worker.mjs). */
type Reply =
  | { facts: AssertionFacts }
  | { refused: string; isUnknownKey: boolean }
  | { status: string }
  | { failed: string };
type Job = {
  text: string;
  verification: Verification;
  resolve(facts: AssertionFacts): void;
  reject(error: Error): void;
};

const script = new URL("../../../saml-worker.mjs", import.meta.url);
/** Characters of a response that is verified at once: the worst takes less than 40 ms. */
const smallText = 128 * 1024;
/** Large responses that wait; an address has at most its fair share. */
const waitingMax = 20;
/** Far beyond the worst response within the limits. */
const deadlineMs = 10_000;

const took = histogram(
  "muster_identity_saml_verification_duration_seconds",
  "Duration of the verification of a SAML response, by outcome; of a large one with its wait.",
  ["outcome"],
);

/**
 * Verifies SAML responses. Large ones are verified round-robin by client network in a thread of their own, which starts
 * with the first and ends after `idleMs` without one, so that no other request waits for them.
 */
export class ResponseVerifier {
  readonly #idleMs: number;
  readonly #waiting = createRoundRobin<Job>();
  #worker: Worker | null = null;
  #running: Job | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor({ idleMs = 60_000 }: { idleMs?: number } = {}) {
    this.#idleMs = idleMs;
  }

  /** Whether its thread runs. */
  get hasThread(): boolean {
    return this.#worker !== null;
  }

  /**
   * As verifyResponse; `network` is where the response came from. Throws AppError `overloaded` too when too many large
   * ones wait, and `unavailable` when the thread ends.
   */
  async verify(text: string, verification: Verification, network: string): Promise<AssertionFacts> {
    const began = performance.now();
    let outcome = "refused";
    try {
      const facts = await (text.length <= smallText
        ? here(text, verification)
        : this.#inThread(text, verification, network));
      outcome = "accepted";
      return facts;
    } finally {
      took.observe({ outcome }, (performance.now() - began) / 1_000);
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#ended(null);
    await worker?.terminate();
  }

  #inThread(text: string, verification: Verification, network: string): Promise<AssertionFacts> {
    if (this.#waiting.lengthOf(network) >= waitingMax - this.#waiting.size) {
      throw new AppError("overloaded", "Too many large SAML responses at once", { retryAfterSeconds: 5 });
    }
    return new Promise((resolve, reject) => {
      this.#waiting.add(network, { text, verification, resolve, reject });
      if (this.#running === null) this.#next();
    });
  }

  #next(): void {
    clearTimeout(this.#timer);
    this.#running = this.#waiting.next() ?? null;
    if (this.#running === null) {
      this.#worker?.unref();
      this.#timer = setTimeout(() => void this.close(), this.#idleMs).unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#timer = setTimeout(() => void this.close(), deadlineMs);
    const { text, verification } = this.#running;
    this.#worker.postMessage({ text, verification });
  }

  #start(): Worker {
    // It inherits neither the service's settings nor the tests' loader.
    const worker = new Worker(script, { env: {}, execArgv: [] });
    worker.on("message", (reply: Reply) => {
      const job = this.#running;
      if (job !== null) settle(job, reply);
      this.#next();
    });
    worker.once("error", (error) => this.#ended(error, worker));
    worker.once("exit", () => this.#ended(null, worker));
    return worker;
  }

  /** Fails what runs and what waits: the thread is gone. */
  #ended(cause: Error | null, of = this.#worker): void {
    if (of === null || this.#worker !== of) return;
    this.#worker = null;
    clearTimeout(this.#timer);
    for (let job = this.#running; job; job = this.#waiting.next() ?? null) {
      job.reject(
        new AppError("unavailable", "Service is temporarily unavailable", {
          retryAfterSeconds: 1,
          ...(cause === null ? {} : { cause }),
        }),
      );
    }
    this.#running = null;
  }
}

/** Loaded at the first response: the parser is large. */
async function here(text: string, verification: Verification): Promise<AssertionFacts> {
  const { verifyResponse } = await import("./verify-response.ts");
  return verifyResponse(text, verification);
}

function settle({ resolve, reject }: Job, reply: Reply): void {
  if ("facts" in reply) resolve(reply.facts);
  else if ("refused" in reply) reject(new SamlRefused(reply.refused, { isUnknownKey: reply.isUnknownKey }));
  else if ("status" in reply) reject(new SamlStatus(reply.status));
  else reject(new Error(`a SAML response was not verified: ${reply.failed}`));
}
