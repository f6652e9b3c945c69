/** What was thrown, as one text. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
