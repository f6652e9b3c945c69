/** The text of what was thrown, by its shape: an error of another realm is no instance of this one's Error. */
export const messageOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "message" in error ? String(error.message) : String(error);

/** The code of a failed system call; empty for anything else. */
export const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code ?? "") : "";
