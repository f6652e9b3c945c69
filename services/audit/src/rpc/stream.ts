import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, isUuid, type SecretBox, strengthOfSealed, uuidv7 } from "@muster/kit";
import { type StreamBucket, StreamSchema, StreamService } from "@muster/proto/muster/audit/v1/stream_pb";
import { callContext } from "@muster/rpc";
import {
  auditEvent,
  checkedBefore,
  idempotentTx,
  repeatedReply,
  requireMfa,
  requirePermission,
  type TenantReader,
} from "@muster/service";
import type { Pushes } from "../clients/webhook-pushes.ts";
import { type SendDeps, sendBatch } from "../commands/send-batch.ts";
import { type Bucket, bucketUrl } from "../rules/bucket.ts";
import { newStream, type StreamFields, wantedStatus } from "../rules/stream.ts";
import { streamHealth } from "../rules/stream-health.ts";
import { readChain } from "../store/chain-rows.ts";
import { readableRange } from "../store/logs.ts";
import { isDeleted } from "../store/policies.ts";
import { tenantOfChain } from "../store/proof.ts";
import { sealedAt } from "../store/sealed-columns.ts";
import {
  findStream,
  insertStream,
  listStreams,
  lockStream,
  removeStream,
  type StreamLag,
  type StreamRow,
  setStreamStatus,
} from "../store/streams.ts";
import { orgIdOf } from "./log-messages.ts";

export type StreamDeps = TenantReader & {
  now: () => Date;
  box: SecretBox;
  /** Of the purpose of `sealedReplies`. */
  replyBox: SecretBox;
  pushes: Pick<Pushes, "check" | "push" | "pushSyslog">;
  deployment: string;
  /** Null: streams to the archive are refused. */
  archive: SendDeps["archive"];
  /** Null: buckets by a role are refused. */
  roles: SendDeps["roles"];
  mfaMaxAgeMinutes: number;
  /** Streams that an organization may have. */
  streamsPerOrganization: number;
};

type Handlers = ServiceImpl<typeof StreamService>;

/** Streams of audit rows (docs/behaviour.md#audit-lists). */
export function streamService(deps: StreamDeps): ServiceImpl<typeof StreamService> {
  return { ...streamReads(deps), ...streamCreation(deps), ...streamChanges(deps) };
}

function streamReads(deps: StreamDeps): Pick<Handlers, "listStreams" | "getStream"> {
  const { db } = deps;
  return {
    async listStreams(request, handler) {
      const context = callContext(handler);
      reader(context);
      const orgId = await organizationOf(deps, context, request.orgId);
      return { streams: (await listStreams(db, context, orgId)).map(toMessage) };
    },

    async getStream({ id }, handler) {
      const context = callContext(handler);
      reader(context);
      return { stream: toMessage(await found(deps, context, id)) };
    },
  };
}

function streamCreation(deps: StreamDeps): Pick<Handlers, "createStream"> {
  const { db, now } = deps;
  return {
    async createStream(request, handler) {
      const context = callContext(handler);
      writer(deps, context);
      const orgId = await organizationOf(deps, context, request.orgId);
      const has = { archive: deps.archive !== null, roles: deps.roles !== null };
      const fields = newStream({ ...request, bucket: bucketOf(request.bucket) }, has);
      const { partnerId } = await tenantOfChain(db, context, orgId);
      if (!partnerId || (await isDeleted(db, context, orgId))) {
        throw new AppError("organization_not_found", "Organization not found");
      }
      const repeated = await repeatedReply(db, context, StreamService.method.createStream, request, deps.replyBox);
      if (repeated) return repeated;
      const shown = await checkedUrl(deps, context, fields);
      const at = now();
      const id = uuidv7(at.getTime());
      const secret = fields.secret || `whsec_${randomBytes(32).toString("base64")}`;
      const run = async (tx: Tx) => {
        const isWebhook = fields.type === "webhook";
        const sealed = sealedFields(deps.box, id, fields, secret);
        const row = await insertStream(
          tx,
          {
            id,
            org_id: orgId,
            partner_id: partnerId,
            name: fields.name,
            type: fields.type,
            url_shown: shown,
            format: fields.format,
            envelope: fields.envelope,
            ...sealed,
            header_keys: fields.headers.map(({ key }) => key),
            bucket: fields.bucket && withoutSecret(fields.bucket),
            ca: fields.ca,
            created_by: context.caller.actor.id,
            fromStart: request.fromStart,
          },
          deps.streamsPerOrganization,
          at,
        );
        if (!row) {
          throw new AppError("limit_reached", "The organization's limit of streams is reached", {
            facts: { limit: deps.streamsPerOrganization },
          });
        }
        record(tx, context, row, "audit.stream.create", { changes: { before: {}, after: factsOf(row) } }, at);
        return { stream: toMessage(row), secret: isWebhook ? secret : "" };
      };
      return idempotentTx(db, context, StreamService.method.createStream, request, checkedBefore, run, deps.replyBox);
    },
  };
}

function streamChanges(deps: StreamDeps): Pick<Handlers, "updateStream" | "testStream" | "deleteStream"> {
  const { db, now } = deps;
  return {
    async updateStream({ id, status }, handler) {
      const context = callContext(handler);
      writer(deps, context);
      const wanted = wantedStatus(status);
      const { id: own } = await found(deps, context, id);
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const before = await lockStream(tx, own);
        const after = before && (await setStreamStatus(tx, own, wanted, at));
        if (!before || !after) return null;
        const changes = { before: { status: before.status }, after: { status: after.status } };
        record(tx, context, after, "audit.stream.update", { changedFields: ["status"], changes }, at);
        return after;
      });
      if (!row) throw notFound();
      return { stream: toMessage(row) };
    },

    async testStream({ id }, handler) {
      const context = callContext(handler);
      writer(deps, context);
      const stream = await found(deps, context, id);
      const { rows } = await readChain(db, context, stream.org_id, Math.max(0, stream.head_seq - 1), 1);
      if (rows.length === 0) return { accepted: false, error: "The chain has no row yet", answer: "" };
      const sent = await sendBatch(deps, { ...stream, failures: 0, is_doubtful: true }, rows);
      if (sent.status === "unsent") throw new AppError("overloaded", "Too many pushes are in flight");
      const accepted = sent.status === "taken";
      const error = sent.status === "refused" ? sent.error : "";
      const details = { accepted, status: sent.httpStatus, ...(accepted ? {} : { error }) };
      await db.tx(context, async (tx) => record(tx, context, stream, "audit.stream.test", details, now()));
      return { accepted, ...(sent.httpStatus === null ? {} : { status: sent.httpStatus }), error, answer: sent.answer };
    },

    async deleteStream({ id }, handler) {
      const context = callContext(handler);
      writer(deps, context);
      const { id: own } = await found(deps, context, id);
      const at = now();
      const removed = await db.tx(context, async (tx) => {
        const row = await lockStream(tx, own);
        if (!row) return false;
        await removeStream(tx, own);
        record(tx, context, row, "audit.stream.delete", { changes: { before: factsOf(row), after: {} } }, at);
        return true;
      });
      if (!removed) throw notFound();
      return {};
    },
  };
}

/** The address as users may see it; null for the archive. Throws `invalid_webhook_url`. */
async function checkedUrl({ pushes }: StreamDeps, context: CallContext, fields: StreamFields): Promise<string | null> {
  const { type, url, bucket } = fields;
  if (type === "archive") return null;
  if (bucket) return pushes.check(bucketUrl(bucket), "s3", context);
  return pushes.check(url, type === "https" || type === "syslog" ? type : "", context);
}

function bucketOf(message: StreamBucket | undefined): StreamFields["bucket"] {
  if (!message) return null;
  const { bucket, region, endpoint, prefix, pathStyle, accessKeyId, secretAccessKey, roleArn } = message;
  const where = { bucket, region, endpoint: endpoint || null, prefix, pathStyle };
  return { ...where, accessKeyId, secretAccessKey, ...(roleArn === "" ? {} : { roleArn }) };
}

function withoutSecret({ secretAccessKey: _, ...bucket }: NonNullable<StreamFields["bucket"]>): Bucket {
  return bucket;
}

function reader(context: CallContext) {
  return requirePermission(context, "audit:write");
}

function writer(deps: StreamDeps, context: CallContext) {
  const { now } = deps;
  reader(context);
  requireMfa(context, deps.mfaMaxAgeMinutes, now());
}

async function organizationOf(deps: StreamDeps, context: CallContext, requestedId: string): Promise<string> {
  const orgId = orgIdOf(requestedId) ?? context.caller.orgId;
  if (!orgId) throw new AppError("organization_context_required", "Organization context required");
  await readableRange(deps, context, orgId);
  return orgId;
}

/** A stream whose organization the caller reads: row-level security alone does not exclude users limited to sites. */
async function found(deps: StreamDeps, context: CallContext, id: string): Promise<StreamRow & StreamLag> {
  const { db } = deps;
  await readableRange(deps, context, null);
  const row = isUuid(id) ? await findStream(db, context, id) : null;
  if (!row || (context.caller.scope !== "system" && (await isDeleted(db, context, row.org_id)))) throw notFound();
  return row;
}

const notFound = () => new AppError("audit_stream_not_found", "Audit stream not found");

function record(
  tx: Tx,
  context: CallContext,
  row: StreamRow,
  action: string,
  details: Record<string, unknown>,
  at: Date,
): void {
  const resource = { type: "audit_stream", id: row.id, name: row.name };
  tx.emit(
    auditEvent("audit", context, { action, resource, orgId: row.org_id, partnerId: row.partner_id, details }, at),
  );
}

/** What users may see of a stream in its own chain. */
function factsOf(row: StreamRow): Record<string, unknown> {
  const { name, type, format, envelope, url_shown: url, header_keys: headerKeys, cursor_seq: cursorSeq } = row;
  const sink = {
    ...(envelope === null ? {} : { envelope, headerKeys }),
    ...(row.bucket === null ? {} : { s3: row.bucket }),
    ...(row.ca === null ? {} : { hasCa: true }),
  };
  return { name, type, url, format, ...sink, cursorSeq };
}

/** Sealed for the row's own columns; null where the type has none. */
function sealedFields(box: SecretBox, id: string, { type, url, headers, bucket }: StreamFields, secret: string) {
  const sealed = (text: string, location: string) => box.seal(Buffer.from(text), location);
  return {
    url_sealed: url === "" ? null : sealed(url, sealedAt.url(id)),
    bucket_secret_sealed:
      bucket && bucket.roleArn === undefined ? sealed(bucket.secretAccessKey, sealedAt.bucketSecret(id)) : null,
    secret_sealed: type === "webhook" ? sealed(secret, sealedAt.secret(id)) : null,
    headers_sealed: type === "https" ? sealed(JSON.stringify(headers), sealedAt.headers(id)) : null,
  };
}

function toMessage(row: StreamRow & StreamLag) {
  return create(StreamSchema, {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    type: row.type,
    url: row.url_shown ?? "",
    status: row.status,
    cursorSeq: BigInt(row.cursor_seq),
    headSeq: BigInt(row.head_seq),
    lagSeconds: row.lag_seconds,
    rowsSent: BigInt(row.rows_sent),
    failures: row.failures,
    lastError: row.last_error ?? "",
    ...(row.last_error_at ? { lastErrorAt: timestampFromDate(row.last_error_at) } : {}),
    ...(row.last_success_at ? { lastSuccessAt: timestampFromDate(row.last_success_at) } : {}),
    ...(row.status === "active" && row.failures > 0 ? { nextAttemptAt: timestampFromDate(row.next_attempt_at) } : {}),
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    format: row.format,
    envelope: row.envelope ?? "",
    headerKeys: row.header_keys,
    ...(row.bucket ? { bucket: { ...row.bucket, endpoint: row.bucket.endpoint ?? "" } } : {}),
    hasCa: row.ca !== null,
    health: streamHealth(row),
    secretStrength: row.secret_sealed === null ? "" : strengthOfSealed(row.secret_sealed),
  });
}
