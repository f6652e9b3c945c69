import type { Finding } from "./finding.ts";

export const verifyKind = "audit.verify";

/** Input of a verification job. */
export type VerifyInput = {
  chainId: string;
  orgId: string | null;
  partnerId: string | null;
  from: number | null;
};

/** Verifications that may wait for each chain, besides one of them that runs. */
export const mostWaiting = 2;

/** Chains of one partner share its queue, so that one tenant's many verifications do not delay others. */
export const queueOf = ({ chainId, partnerId }: VerifyInput): string => partnerId ?? chainId;

/** Identical verifications of a chain run once at a time. */
export const openKeyOf = ({ chainId, from }: VerifyInput): string => `${chainId}/${from ?? "first"}`;

export const waitingKeysOf = ({ chainId }: VerifyInput): string[] =>
  Array.from({ length: mostWaiting }, (_, n) => `${chainId}/${n}`);

/** Result of a verification job. */
export type VerifyResult = { rows: number; verdicts: Finding[]; more: number };
