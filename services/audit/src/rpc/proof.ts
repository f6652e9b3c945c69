import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type JobState, jobs } from "@muster/db";
import type { NoteVerifier } from "@muster/kit";
import { AppError, clampPage, isUuid, uuidv7, validationError } from "@muster/kit";
import { AuditProofService } from "@muster/proto/muster/audit/v1/proof_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requirePermission, type TenantReader } from "@muster/service";
import { rangeOf } from "../rules/range.ts";
import { mostWaiting, openKeyOf, type VerifyInput, verifyKind } from "../rules/verification-job.ts";
import { listJobs } from "../store/chain-jobs.ts";
import { readableRange } from "../store/logs.ts";
import {
  auditVerification,
  listCheckpoints,
  newestAnchor,
  ownChain,
  queueVerification,
  tenantOfChain,
} from "../store/proof.ts";
import { orgIdOf } from "./log-messages.ts";
import { type ShownJob, verificationOf } from "./verification-message.ts";
import { isVisibleChain } from "./visible-chain.ts";

type Deps = TenantReader & {
  verifiers: readonly NoteVerifier[];
  /** Called when a verification was queued. */
  queued(): void;
};

const jobStates: readonly JobState[] = ["queued", "running", "done", "failed"];

type Handlers = ServiceImpl<typeof AuditProofService>;

/** Verification and checkpoints; chains of other tenants do not exist for the caller. */
export function auditProofService(deps: Deps): ServiceImpl<typeof AuditProofService> {
  return { ...verifications(deps), ...checkpoints(deps) };
}

function verifications(deps: Deps): Pick<Handlers, "startVerification" | "getVerification" | "listVerifications"> {
  const { db, queued } = deps;
  return {
    async startVerification(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const orgId = orgIdOf(request.orgId);
      if (request.from < 0n || request.from > BigInt(Number.MAX_SAFE_INTEGER)) {
        throw validationError({ from: ["Must be a row number"] });
      }
      await readableRange(deps, context, orgId);
      const chainId = orgId ?? ownChain(context);
      const input: VerifyInput = {
        chainId,
        ...(await tenantOfChain(db, context, chainId)),
        from: request.from === 0n ? null : Number(request.from),
      };
      for (let attempt = 1; ; attempt++) {
        const open = await jobs(db).openUnder(verifyKind, openKeyOf(input));
        const now = new Date();
        const job: ShownJob = open ?? { id: uuidv7(now.getTime()), state: "queued", input, createdAt: now };
        try {
          const { method } = AuditProofService;
          const reply = await idempotentTx(
            db,
            context,
            method.startVerification,
            request,
            checkedBefore,
            async (tx) => {
              if (!open && !(await queueVerification(db, tx, { id: job.id, input }))) throw new NotQueued();
              auditVerification(tx, context, { id: job.id, input });
              return { verification: verificationOf(job) };
            },
          );
          queued();
          return reply;
        } catch (error) {
          if (!(error instanceof NotQueued)) throw error;
          // A concurrent request has queued the same one: the answer is that one, or the next attempt when it has ended
          // by now.
          if (attempt < 3 || (await jobs(db).openUnder(verifyKind, openKeyOf(input)))) continue;
          throw new AppError("limit_reached", `${mostWaiting} verifications of this audit chain are waiting already`, {
            facts: { limit: mostWaiting },
          });
        }
      }
    },

    async getVerification(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      rangeOf(context.caller, null);
      const job = isUuid(request.id) ? await jobs(db).get(request.id.toLowerCase()) : null;
      if (job?.kind !== verifyKind || !(await isVisibleChain(deps, context, job.input as VerifyInput))) {
        throw new AppError("audit_verification_not_found", "Verification not found");
      }
      return { verification: verificationOf(job) };
    },

    async listVerifications(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const state = request.status === "" ? null : (jobStates.find((each) => each === request.status) ?? "unknown");
      if (state === "unknown") throw validationError({ status: [`One of ${jobStates.join(", ")}`] });
      const page = clampPage(request.page ?? {});
      const range = await readableRange(deps, context, orgIdOf(request.orgId));
      const wanted = { kind: verifyKind, range, state, isSystem: context.caller.scope === "system" } as const;
      const { rows, total, nextCursor } = await listJobs(db, context, wanted, page);
      return {
        verifications: rows.map(verificationOf),
        page: { page: page.page, limit: page.limit, nextCursor, ...(total === null ? {} : { total: BigInt(total) }) },
      };
    },
  };
}

function checkpoints(deps: Deps): Pick<Handlers, "listCheckpoints"> {
  const { db, verifiers } = deps;
  return {
    async listCheckpoints(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const page = clampPage(request.page ?? {});
      const range = await readableRange(deps, context, orgIdOf(request.orgId));
      const [{ rows, total, nextCursor }, anchor] = await Promise.all([
        listCheckpoints(db, context, range, page),
        newestAnchor(db, context),
      ]);
      return {
        checkpoints: rows.map((row) => ({
          chainId: row.chain_id,
          orgId: row.org_id ?? "",
          seq: BigInt(row.seq),
          checksum: row.checksum,
          note: row.note,
          createdAt: timestampFromDate(row.created_at),
        })),
        page: { page: page.page, limit: page.limit, nextCursor, ...(total === null ? {} : { total: BigInt(total) }) },
        keys: verifiers.map(({ text }) => text),
        ...(anchor
          ? {
              anchor: {
                root: anchor.root,
                chains: anchor.chains,
                note: anchor.note,
                createdAt: timestampFromDate(anchor.created_at),
              },
            }
          : {}),
      };
    },
  };
}

class NotQueued extends Error {}
