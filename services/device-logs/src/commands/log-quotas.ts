import type { Database } from "@muster/db";
import { AppError, counter, type Logger, systemCaller } from "@muster/kit";
import { type EffectiveLimits, effectiveLimits, noLimits } from "../rules/log-limits.ts";
import { ownLimits } from "../store/log-limits.ts";
import { addUsage, findUsage, type LogUsage } from "../store/log-usage.ts";

const system = { caller: systemCaller("device-logs") };
/** An agent that waits tries again within the hour, since the quota may have been raised. */
const retryMaxSeconds = 3_600;
const idleMs = 600_000;

const refusedCounter = counter(
  "muster_device_logs_quota_refused_total",
  "Requests refused because their organization has used its quota of the day.",
);

type Owner = { orgId: string; partnerId: string };
type Sums = { rows: number; bytes: number; refused: number };

/** What is left of a quota of the day; null where there is none. */
export type QuotaLeft = { rows: number | null; bytes: number | null };

type Account = {
  owner: Owner;
  /** As 2026-01-31, UTC. */
  day: string;
  limits: EffectiveLimits;
  /** As the database has it, from all processes. */
  stored: Sums;
  /** Of this process, and not stored yet; `storing` is on its way. */
  pending: Sums;
  storing: Sums;
  lastUsedMs: number;
  isLogged: boolean;
};

const nothing = (): Sums => ({ rows: 0, bytes: 0, refused: 0 });

export type LogQuotaDeps = { db: Database; log: Logger; platform: EffectiveLimits; now: () => Date };

/**
 * Counts what the agents of each organization send in a day of UTC. A process knows what others counted as of its last
 * `store`, which runs every second: an organization may exceed its quota by what is sent meanwhile, and a process that
 * is killed loses as much of the count.
 */
export class LogQuotas {
  readonly #deps: LogQuotaDeps;
  readonly #accounts = new Map<string, Promise<Account>>();

  constructor(deps: LogQuotaDeps) {
    this.#deps = deps;
  }

  /** Throws `log_quota_exceeded` when the organization has used its quota; and the database's errors. */
  async admit(owner: Owner): Promise<void> {
    const account = await this.#accountOf(owner);
    const left = leftOf(account);
    if (left.rows !== 0 && left.bytes !== 0) return;
    account.pending.refused++;
    refusedCounter.inc();
    const { orgId } = owner;
    if (!account.isLogged) this.#deps.log.warn({ orgId, ...account.limits }, "organization has used its log quota");
    account.isLogged = true;
    const what = left.rows === 0 ? "rows" : "bytes";
    throw new AppError("log_quota_exceeded", `The organization has used its quota of log ${what} for today`, {
      retryAfterSeconds: Math.min(retryMaxSeconds, secondsLeft(this.#deps.now())),
    });
  }

  /** Counts what was stored of an admitted request, and returns what is left. */
  async count(owner: Owner, rows: number, bytes: number): Promise<QuotaLeft> {
    const account = await this.#accountOf(owner);
    account.pending.rows += rows;
    account.pending.bytes += bytes;
    return leftOf(account);
  }

  /** Stores what was counted, and learns what other processes did and which limits were changed. */
  async store(): Promise<void> {
    const accounts = await Promise.all(this.#accounts.values());
    this.#forgetIdle(accounts);
    const changed = accounts.filter(({ pending }) => pending.rows + pending.bytes + pending.refused > 0);
    if (changed.length === 0) return;
    for (const account of changed) [account.storing, account.pending] = [account.pending, nothing()];
    try {
      const sums = await addUsage(this.#deps.db, changed.map(usageOf));
      const own = await ownLimits(
        this.#deps.db,
        system,
        changed.map(({ owner }) => owner.orgId),
      );
      for (const account of changed) {
        const stored = sums.find(({ orgId, day }) => orgId === account.owner.orgId && day === account.day);
        if (stored) account.stored = stored;
        account.storing = nothing();
        account.limits = effectiveLimits(own.get(account.owner.orgId) ?? noLimits, this.#deps.platform);
      }
    } catch (error) {
      for (const account of changed) {
        account.pending = added(account.pending, account.storing);
        account.storing = nothing();
      }
      throw error;
    }
  }

  async #accountOf(owner: Owner): Promise<Account> {
    const now = this.#deps.now();
    const day = dayOf(now);
    const key = `${owner.orgId} ${day}`;
    const found = this.#accounts.get(key) ?? this.#open(owner, day);
    this.#accounts.set(key, found);
    try {
      const account = await found;
      account.lastUsedMs = now.getTime();
      return account;
    } catch (error) {
      this.#accounts.delete(key);
      throw error;
    }
  }

  async #open(owner: Owner, day: string): Promise<Account> {
    const { db, platform, now } = this.#deps;
    const [own, usage] = await Promise.all([
      ownLimits(db, system, [owner.orgId]),
      findUsage(db, system, owner.orgId, day),
    ]);
    const limits = effectiveLimits(own.get(owner.orgId) ?? noLimits, platform);
    const counts = { stored: usage ?? nothing(), pending: nothing(), storing: nothing() };
    return { owner, day, limits, ...counts, lastUsedMs: now().getTime(), isLogged: false };
  }

  /** What waits to be stored is kept. */
  #forgetIdle(accounts: readonly Account[]): void {
    const before = this.#deps.now().getTime() - idleMs;
    for (const { owner, day, lastUsedMs, pending } of accounts) {
      const isIdle = lastUsedMs < before && pending.rows + pending.bytes + pending.refused === 0;
      if (isIdle) this.#accounts.delete(`${owner.orgId} ${day}`);
    }
  }
}

/** A day of UTC, as 2026-01-31. */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

const secondsLeft = (now: Date): number => Math.ceil((86_400_000 - (now.getTime() % 86_400_000)) / 1_000);

function leftOf({ limits, stored, pending, storing }: Account): QuotaLeft {
  const used = added(stored, added(pending, storing));
  const left = (limit: number | null, spent: number) => (limit === null ? null : Math.max(0, limit - spent));
  return { rows: left(limits.rowsPerDay, used.rows), bytes: left(limits.bytesPerDay, used.bytes) };
}

const added = (one: Sums, other: Sums): Sums => ({
  rows: one.rows + other.rows,
  bytes: one.bytes + other.bytes,
  refused: one.refused + other.refused,
});

const usageOf = ({ owner, day, storing }: Account): LogUsage => ({ ...owner, day, ...storing });
