/** The text of what was thrown, by its shape: an error of another realm is no instance of this one's Error. */
export const messageOf = (error: unknown): string => partOf(error, "message") ?? String(error);

/** The code of a failed system call, statement or connection; empty for anything else. */
export const codeOf = (error: unknown): string => partOf(error, "code") ?? "";

/** What was thrown as an error; anything else becomes the cause of one. */
export const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown });

function partOf(error: unknown, name: "message" | "code"): string | null {
  if (typeof error !== "object" || error === null) return null;
  const part: unknown = Reflect.get(error, name);
  return typeof part === "string" || typeof part === "number" ? String(part) : null;
}
