import { AppError, type CallContext, validationError } from "@muster/kit";

/** What reads all devices in scope has its own, shorter timeout. */
const searchTimeoutMs = 3_000;

/**
 * Runs work that reads all devices in scope, with a deadline of at most 3 s. Throws `validation_failed` on `field` when
 * that was too short.
 */
export async function withinSearchTime<R>(
  who: CallContext,
  field: string,
  work: (within: CallContext) => Promise<R>,
): Promise<R> {
  const endsMs = performance.now() + searchTimeoutMs;
  const isBounded = endsMs < (who.deadlineMs ?? Number.POSITIVE_INFINITY);
  try {
    return await work(isBounded ? { ...who, deadlineMs: endsMs } : who);
  } catch (error) {
    if (!isBounded || !(error instanceof AppError) || error.code !== "deadline_exceeded") throw error;
    throw validationError({ [field]: ["Took too long: narrow it by organization, site or group"] });
  }
}
