import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Job } from "@muster/db";
import { type Verification, VerificationSchema } from "@muster/proto/muster/audit/v1/proof_pb";
import type { VerifyInput, VerifyResult } from "../rules/verification-job.ts";
import type { VerifyCursor } from "../store/verify-chain.ts";

export type ShownJob = Pick<Job, "id" | "state" | "input" | "createdAt"> & Partial<Job>;

export function verificationOf(job: ShownJob): Verification {
  const input = job.input as VerifyInput;
  const result = job.result as VerifyResult | null;
  const progress = job.cursor as VerifyCursor | null;
  return create(VerificationSchema, {
    id: job.id,
    orgId: input.orgId ?? "",
    chainId: input.chainId,
    status: job.state,
    from: BigInt(input.from ?? 0),
    rows: BigInt(result?.rows ?? progress?.v.rows ?? 0),
    verdicts: (result?.verdicts ?? []).map(({ verdict, reason, ...numbers }) => ({
      verdict,
      reason: reason ?? "",
      ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, BigInt(value)])),
    })),
    more: BigInt(result?.more ?? 0),
    createdAt: timestampFromDate(job.createdAt),
    ...(job.finishedAt ? { finishedAt: timestampFromDate(job.finishedAt) } : {}),
  });
}
