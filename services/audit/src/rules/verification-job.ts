import type { Finding } from "./finding.ts";

export const verifyKind = "audit.verify";

/** Input of a verification job. */
export type VerifyInput = {
  chainId: string;
  orgId: string | null;
  partnerId: string | null;
  from: number | null;
};

/** Result of a verification job. */
export type VerifyResult = { rows: number; verdicts: Finding[]; more: number };
