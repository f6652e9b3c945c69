import type { Finding, Verification } from "@muster/proto/muster/audit/v1/proof_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  only,
  pageOf,
  pagination,
  paginationOf,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Audit logs";
const access = { auth: "session", permission: "audit:read", keyScopes: ["audit:read"] } as const;

const seqOut = z.int().nullable();

const verdict = z
  .object({
    verdict: z.enum([
      "OK",
      "PRUNED_PREFIX",
      "RESTORED",
      "ERASED",
      "UNPROTECTED_TAIL",
      "ALTERED",
      "UNKNOWN_FORMAT",
      "DELETED",
      "INSERTED",
      "REORDERED",
      "FORK",
      "TRUNCATED",
      "CHECKPOINT_MISMATCH",
      "BAD_SIGNATURE",
      "HEAD_MISMATCH",
    ]),
    seq: seqOut.meta({ description: "First row of the finding." }),
    lastSeq: seqOut.meta({ description: "Last row of a finding about several rows." }),
    expected: seqOut.meta({ description: "Last row that the chain should have." }),
    have: seqOut.meta({ description: "Last row that the chain has." }),
    rows: seqOut.meta({ description: "Number of rows that the finding is about." }),
    format: seqOut.meta({
      description:
        "Format that the rows were sealed in. Only UNKNOWN_FORMAT has it: this version cannot verify their content, and verified their links.",
    }),
    reason: z.string().nullable(),
  })
  .meta({ id: "AuditVerdict" });

const verification = z
  .object({
    id: idOut,
    orgId: idOut.nullable(),
    chainId: idOut,
    status: z.enum(["queued", "running", "done", "failed"]),
    from: z.int().nullable(),
    rows: z.int().meta({ description: "Rows verified so far." }),
    verdicts: z.array(verdict).meta({ description: "Empty until done; at most 1,000." }),
    more: z.int().meta({ description: "Number of findings beyond those listed." }),
    createdAt: timeOut,
    finishedAt: timeOut.nullable(),
  })
  .meta({ id: "AuditVerification" });

const start = route({
  method: "POST",
  path: "/audit-logs/verify",
  audit: "data.access",
  auditResource: "audit_verification",
  access,
  tag,
  summary: "Verify an audit chain",
  description:
    "Queues a job that recomputes every checksum of the chain and compares it with its head, its checkpoints (also those kept outside of the database) and its prune receipts. While the same one (chain and `from`) is open, the reply is that one; at most two wait for each chain. Without `orgId` it is the chain of the caller's own organization, partner or, for system callers, the platform.",
  body: z.object({
    orgId: id.optional(),
    from: z.int().min(1).optional().meta({ description: "First row (`seq`) to verify; without it, the earliest." }),
  }),
  example: { orgId: exampleId },
  status: 202,
  idempotent: true,
  reply: verification,
  errors: ["organization_not_found", "site_restricted", "limit_reached"],
  async handle({ body, rpc }, { services }) {
    const wanted = { orgId: body.orgId ?? "", from: BigInt(body.from ?? 0) };
    return shown((await services.auditProof.startVerification(wanted, await rpc())).verification);
  },
});

const get = route({
  method: "GET",
  path: "/audit-logs/verify/:id",
  access,
  tag,
  summary: "State and verdicts of a verification",
  params: idParams,
  reply: verification,
  errors: ["audit_verification_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    return shown((await services.auditProof.getVerification({ id: params.id }, await rpc())).verification);
  },
});

const list = route({
  method: "GET",
  path: "/audit-logs/verify",
  access,
  tag,
  summary: "Verifications of the audit chains the caller may see, newest first",
  description: "Jobs requested in the last 30 days. Starts no job.",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    status: verification.shape.status.optional().meta({ description: only.equal }),
  }),
  reply: z.object({ data: z.array(verification), pagination }),
  errors: ["organization_not_found", "site_restricted"],
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "", status: query.status ?? "" };
    const reply = await services.auditProof.listVerifications(wanted, await rpc());
    return { data: reply.verifications.map(shown), pagination: paginationOf(reply.page) };
  },
});

const checkpoint = z
  .object({
    orgId: idOut.nullable(),
    chainId: idOut,
    seq: z.int(),
    checksum: z.string(),
    note: z.string().meta({ description: "C2SP signed note: origin, seq, checksum, time, Ed25519 signature." }),
    createdAt: timeOut,
  })
  .meta({ id: "AuditCheckpoint" });

const anchor = z
  .object({
    root: z.string().meta({ description: "Merkle root (RFC 6962) over the newest checkpoint of every chain." }),
    chains: z.int(),
    note: z.string(),
    createdAt: timeOut,
  })
  .meta({ id: "AuditAnchor" });

const checkpoints = route({
  method: "GET",
  path: "/audit-logs/checkpoints",
  access,
  tag,
  summary: "Signed checkpoints of the audit chains the caller may see, newest first",
  query: listQuery.extend({ orgId: id.optional().meta({ description: only.organization }) }),
  reply: z.object({
    data: z.array(checkpoint),
    keys: z.array(z.string()).meta({ description: "Verifier keys (name+hash+base64), the signing one first." }),
    anchor: anchor.nullable().meta({ description: "Newest deployment anchor; system callers only." }),
    pagination,
  }),
  errors: ["organization_not_found", "site_restricted"],
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "" };
    const reply = await services.auditProof.listCheckpoints(wanted, await rpc());
    return {
      data: reply.checkpoints.map((each) => ({
        orgId: each.orgId || null,
        chainId: each.chainId,
        seq: Number(each.seq),
        checksum: each.checksum,
        note: each.note,
        createdAt: timeOf(each.createdAt),
      })),
      keys: reply.keys,
      anchor: reply.anchor
        ? {
            root: reply.anchor.root,
            chains: reply.anchor.chains,
            note: reply.anchor.note,
            createdAt: timeOf(reply.anchor.createdAt),
          }
        : null,
      pagination: paginationOf(reply.page),
    };
  },
});

function shown(found: Verification | undefined): z.input<typeof verification> {
  if (!found) throw new Error("audit answered without a verification");
  return {
    id: found.id,
    orgId: found.orgId || null,
    chainId: found.chainId,
    status: verification.shape.status.parse(found.status),
    from: found.from === 0n ? null : Number(found.from),
    rows: Number(found.rows),
    verdicts: found.verdicts.map(verdictOf),
    more: Number(found.more),
    createdAt: timeOf(found.createdAt),
    finishedAt: timeOrNull(found.finishedAt),
  };
}

function verdictOf(found: Finding): z.input<typeof verdict> {
  const number = (value: bigint | undefined) => (value === undefined ? null : Number(value));
  return {
    verdict: verdict.shape.verdict.parse(found.verdict),
    seq: number(found.seq),
    lastSeq: number(found.lastSeq),
    expected: number(found.expected),
    have: number(found.have),
    rows: number(found.rows),
    format: number(found.format),
    reason: found.reason || null,
  };
}

export const auditProofRoutes: readonly Route[] = [start, list, get, checkpoints];
