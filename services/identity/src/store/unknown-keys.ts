import type { Database } from "@muster/db";
import { type AppError, type CallContext, clientNetwork, systemCaller } from "@muster/kit";
import {
  type AttemptLimit,
  attemptsLeft,
  limitedUntilMs,
  tooManyFailures,
  withFailures,
} from "../rules/attempt-limit.ts";
import { addFailures, type Counted, lockToCount } from "./failures.ts";

export type UnknownKeys = {
  /** Counts an unknown key; returns until when its address may not try further ones, or null. */
  count(clientAddress: string | null): Promise<Date | null>;
};

type Waiting = { resolve(until: Date | null): void; reject(error: unknown): void };

/**
 * Unknown API keys by address. What arrives while a transaction is in flight shares the next one: guessing cannot flood
 * the database.
 */
export function unknownKeys(deps: {
  db: Database;
  limit: AttemptLimit;
  now: () => Date;
  /** The kinds of credentials that are counted separately. */
  kind?: "api-key" | "enrollment" | "token";
}): UnknownKeys {
  const { db, limit, now, kind = "api-key" } = deps;
  let waiting = new Map<string, Waiting[]>();
  let counting = false;

  const countAll = async () => {
    counting = true;
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      try {
        await countBatch(batch);
      } catch (error) {
        for (const { reject } of [...batch.values()].flat()) reject(error);
      }
    }
    counting = false;
  };

  const countBatch = async (batch: ReadonlyMap<string, readonly Waiting[]>) => {
    const counted: Counted[] = [...batch.keys()].map((key) => ({ key, limit }));
    const { failures, nowMs } = await db.tx(
      { caller: systemCaller("identity") },
      async (tx) => {
        const time = now();
        const before = await lockToCount(tx, counted, time);
        const left = counted.filter(({ key }) => attemptsLeft(before.get(key) ?? [], limit, time.getTime()) > 0);
        if (left.length > 0)
          await addFailures(tx, before, left, time, (key) =>
            Math.min(batch.get(key)?.length ?? 0, attemptsLeft(before.get(key) ?? [], limit, time.getTime())),
          );
        return { failures: before, nowMs: time.getTime() };
      },
      { retry: true },
    );
    for (const [key, all] of batch) answer(all, failures.get(key) ?? [], nowMs);
  };

  /** The first of them use up the remainder. */
  const answer = (all: readonly Waiting[], before: readonly number[], nowMs: number) => {
    const left = attemptsLeft(before, limit, nowMs);
    const untilMs = limitedUntilMs(withFailures(before, limit, nowMs, Math.min(left, all.length)), limit, nowMs);
    for (const [index, { resolve }] of all.entries()) {
      resolve(index < left || untilMs === null ? null : new Date(untilMs));
    }
  };

  return {
    count: (clientAddress) =>
      new Promise((resolve, reject) => {
        const key = `${kind}/${clientNetwork(clientAddress)}`;
        const queue = waiting.get(key) ?? [];
        queue.push({ resolve, reject });
        waiting.set(key, queue);
        if (!counting) void countAll();
      }),
  };
}

/** The refusal of an unknown token: the given one, or `rate_limited` once too many came from the caller's address. */
export async function refusedToken(
  { unknownTokens, now }: { unknownTokens: UnknownKeys; now: () => Date },
  { meta }: Pick<CallContext, "meta">,
  refusal: AppError,
): Promise<AppError> {
  const until = await unknownTokens.count(meta.clientAddress);
  return until ? tooManyFailures(until, now()) : refusal;
}
