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
export type Options = { keys: readonly string[]; deployment: string | null };
/** Null: the file is missing. */
export type Lines = AsyncIterable<string> | null;
type Verifiers = {
  exportVerifier(options: Options): Verifier;
  verifyParts(source: { manifest: Lines; part(number: number): Lines }, options: Options): Promise<ExportReport>;
};

const compiled = (name: string) => new URL(`../../../../services/audit/dist/offline/${name}.js`, import.meta.url);

/**
 * The service's verifiers of exports, which verify online, too: compiled, in a checkout. A released program has them
 * built in instead of this module (deploy/release).
 */
export async function loadVerifiers(): Promise<Verifiers> {
  const [one, parts] = [compiled("verify-export"), compiled("verify-parts")];
  if (!existsSync(parts)) throw new Error("not built yet: run `npm run build` in the repository first");
  const { exportVerifier }: Pick<Verifiers, "exportVerifier"> = await import(one.href);
  const { verifyParts }: Pick<Verifiers, "verifyParts"> = await import(parts.href);
  return { exportVerifier, verifyParts };
}
