import { linesOf } from "./note-lines.ts";

/**
 * The database went back to `restoredTo`, as an operator declared at `declaredAt`: what was signed between is of rows
 * that went.
 */
export type Restore = { restoredTo: Date; declaredAt: Date };

/** Text of a declared restore, to be signed as a note: one for all chains of a deployment. */
export function restoreText(deployment: string, { restoredTo, declaredAt }: Restore): string {
  return `${deployment}/audit/restore\n${restoredTo.toISOString()}\n${declaredAt.toISOString()}\n`;
}

/**
 * Parses the output of `restoreText`; null for other text, or for another deployment's. `deployment` null accepts any.
 */
export function parseRestore(text: string, deployment: string | null): Restore | null {
  const [origin = "", to = "", at = "", ...rest] = linesOf(text);
  const [, signedDeployment = ""] = /^(.+)\/audit\/restore$/.exec(origin) ?? [];
  const [restoredTo, declaredAt] = [new Date(to), new Date(at)];
  const isRestore = rest.length === 0 && signedDeployment !== "" && restoredTo.getTime() < declaredAt.getTime();
  if (!isRestore || (deployment !== null && signedDeployment !== deployment)) return null;
  return { restoredTo, declaredAt };
}

/** Whether what was signed at `atMs` is of the time that one of these restores undid. */
export function wasUndone(restores: readonly { fromMs: number; toMs: number }[], atMs: number): boolean {
  return restores.some(({ fromMs, toMs }) => atMs > fromMs && atMs < toMs);
}
