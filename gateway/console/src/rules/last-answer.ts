type Delivery = { status: string; responseStatus: number | null; errorMessage: string | null };

/** The newest delivery that failed and says what its receiver answered, or why it did not; undefined for none. */
export const lastRefused = <D extends Delivery>(newestFirst: readonly D[]): D | undefined =>
  newestFirst.find(
    ({ status, responseStatus, errorMessage }) =>
      (status === "retrying" || status === "failed") && (responseStatus !== null || errorMessage !== null),
  );

/** What a receiver answered to a delivery that failed, as a sentence; nothing without one. */
export function lastAnswer(refused: Delivery | undefined): string {
  if (!refused) return "";
  const { responseStatus, errorMessage } = refused;
  return responseStatus !== null ? `It answers ${responseStatus}.` : `It does not answer: ${errorMessage}.`;
}
