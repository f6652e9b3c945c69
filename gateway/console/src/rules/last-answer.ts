type Delivery = { status: string; responseStatus: number | null; errorMessage: string | null };

/** What a receiver answered to the newest delivery that failed, as a sentence; nothing where none of them did. */
export function lastAnswer(newestFirst: readonly Delivery[]): string {
  const failed = newestFirst.find(
    ({ status, responseStatus, errorMessage }) =>
      (status === "retrying" || status === "failed") && (responseStatus !== null || errorMessage !== null),
  );
  if (!failed) return "";
  const { responseStatus, errorMessage } = failed;
  return responseStatus !== null ? `It answers ${responseStatus}.` : `It does not answer: ${errorMessage}.`;
}
