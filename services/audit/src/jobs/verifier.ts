import { type Database, type Job, jobs } from "@muster/db";
import { counter, type Logger } from "@muster/kit";
import { type VerifyInput, type VerifyResult, verifyKind } from "../rules/verification-job.ts";
import { type Finding, isProblem, isUnverified } from "../rules/verify.ts";
import { startVerifying, type VerifyCursor, type VerifyDeps, verifyPage } from "../store/verify-chain.ts";
import { type Worker, type WorkTimes, workThrough } from "./work-through.ts";

/** `saveMs`: milliseconds between two saved positions. */
type Deps = VerifyDeps & WorkTimes & { db: Database; log: Logger; saveMs?: number };

const finished = counter("muster_audit_verifications_total", "Verifications that ended", ["outcome"]);
const verified = counter("muster_audit_rows_verified_total", "Rows verified");

/** Works through verification jobs; one that another process began continues from its last saved page. */
export function startVerifier(deps: Deps): Worker {
  const { log } = deps;
  return workThrough(
    deps,
    verifyKind,
    (job, signal) => runVerification(deps, job, signal),
    (err, job) => log.error({ err, jobId: job?.id }, "verification cannot continue now, tried again"),
  );
}

/**
 * Runs a claimed job from where it stands to its end, to the abortion of `signal`, or, after `saveMs`, until another
 * one waits: a long chain keeps no other waiting.
 */
export async function runVerification(deps: Deps, job: Job, signal: AbortSignal): Promise<void> {
  const work = jobs(deps.db);
  const { saveMs = 2_000 } = deps;
  const { chainId, from } = job.input as VerifyInput;
  const cursor = (job.cursor as VerifyCursor | null) ?? (await startVerifying(deps, chainId, from));
  let savedMs = performance.now();
  for (;;) {
    const before = cursor.v.rows;
    const findings = await verifyPage(deps, cursor);
    verified.inc(cursor.v.rows - before);
    if (findings) {
      const result: VerifyResult = { rows: cursor.v.rows, verdicts: findings, more: cursor.v.findings.more };
      await work.finish(job, result);
      const problems = findings.filter(isProblem);
      const outcome = outcomeOf(problems);
      finished.inc({ outcome });
      const facts = { jobId: job.id, chainId, rows: result.rows, problems: problems.slice(0, 10) };
      if (outcome === "problems") deps.log.error(facts, "audit chain does not verify");
      else if (outcome === "unverified")
        deps.log.warn(facts, "audit chain has rows of a format unknown to this version");
      else deps.log.info(facts, "audit chain verified");
      return;
    }
    if (performance.now() - savedMs > saveMs && (await work.giveWay(job, cursor))) return;
    if (signal.aborted || performance.now() - savedMs > saveMs) {
      await work.progress(job, cursor);
      savedMs = performance.now();
    }
    // Left for the next process that claims it.
    if (signal.aborted) return;
  }
}

function outcomeOf(problems: readonly Finding[]): "ok" | "unverified" | "problems" {
  if (problems.length === 0) return "ok";
  return problems.every(isUnverified) ? "unverified" : "problems";
}
