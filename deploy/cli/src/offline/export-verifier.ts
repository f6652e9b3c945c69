import { existsSync } from "node:fs";

/** What is said of a row or a range of rows; of the file as such without them. */
export type Finding = {
  verdict: string;
  seq?: number;
  lastSeq?: number;
  expected?: unknown;
  have?: unknown;
  rows?: number;
  format?: unknown;
  reason?: string;
};
/** As much of the report as is printed here. */
export type ExportReport = {
  ok: boolean;
  isUnverified: boolean;
  rows: number;
  truncated: boolean;
  keys: string[];
  keysGiven: boolean;
  signedAt: string | null;
  file: Finding[];
  chains: { chainId: string; isSelection: boolean; findings: Finding[] }[];
};
type Verifier = { line(text: string): void; end(): ExportReport };
type ExportVerifier = (options: { keys: readonly string[]; deployment: string | null }) => Verifier;

const compiled = new URL("../../../../services/audit/dist/offline/verify-export.js", import.meta.url);

/**
 * The service's verifier of exports, which verifies online, too: compiled, in a checkout. A released program has it
 * built in instead of this module (deploy/release).
 */
export async function loadVerifier(): Promise<ExportVerifier> {
  if (!existsSync(compiled)) throw new Error("not built yet: run `npm run build` in the repository first");
  const { exportVerifier }: { exportVerifier: ExportVerifier } = await import(compiled.href);
  return exportVerifier;
}
