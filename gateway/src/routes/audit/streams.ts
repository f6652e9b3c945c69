import type { Stream, StreamBucket } from "@muster/proto/muster/audit/v1/stream_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { healthOrNull, healthOut } from "../fields/health.ts";
import { requestHeadersIn } from "../fields/request-headers.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  pageOf,
  pagination,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";
import { secretIn, secretStrength, strengthOf } from "../fields/signing-secret.ts";
import { listErrors, tag } from "./audit-logs.ts";

const type = z.enum(["webhook", "archive", "https", "s3", "syslog"]);
const format = z.enum(["muster", "ocsf"]).meta({
  description:
    "`muster`: rows as an export has them, which can be verified. `ocsf`: events of the Open Cybersecurity Schema Framework 1.5.0.",
});
const envelope = z.enum(["ndjson", "array", "splunk-hec", "elastic-bulk"]).meta({
  description:
    "What surrounds the rows of a request of type `https`: lines, an array, events of Splunk's HTTP Event Collector, or the bulk API of Elasticsearch, whose partial refusals are read.",
});
const bucketText = (description: string, most: number) => z.string().min(1).max(most).meta({ description });
const bucket = z.object({
  bucket: bucketText("Name of the bucket.", 63),
  region: bucketText("Region of the bucket.", 32),
  endpoint: z.string().min(1).max(2_048).optional().meta({ description: "URL of the storage; without it, AWS." }),
  prefix: z.string().max(512).optional().meta({ description: "Of every object's name; empty, or ending in a slash." }),
  pathStyle: z.boolean().optional().meta({ description: "Whether the path names the bucket instead of the host." }),
  accessKeyId: bucketText(
    "Access key that may put objects there, and nothing else; not beside a role.",
    128,
  ).optional(),
  roleArn: bucketText(
    "Role on AWS that the deployment assumes instead, with the organization's id as external id.",
    600,
  ).optional(),
});
const status = z.enum(["active", "paused", "failed"]);

const stream = z
  .object({
    id: idOut,
    orgId: idOut,
    name: z.string(),
    type,
    format,
    envelope: envelope.nullable(),
    headerKeys: z
      .array(z.string())
      .meta({ description: "Names of the headers of type `https`; values are never shown." }),
    s3: z
      .object({
        ...bucket.shape,
        ...{ endpoint: z.string().nullable(), prefix: z.string(), pathStyle: z.boolean() },
        ...{ accessKeyId: z.string().nullable(), roleArn: z.string().nullable() },
      })
      .nullable()
      .meta({ description: "Of type `s3`; the secret is never shown." }),
    hasCa: z.boolean().meta({ description: "Whether the sink's certificate must come from an uploaded authority." }),
    url: z.string().nullable().meta({ description: "Userinfo and tokens in the query are omitted." }),
    status,
    health: healthOut,
    secretStrength,
    cursorSeq: z.int().meta({ description: "The last row that the webhook or the storage accepted." }),
    headSeq: z.int().meta({ description: "The last row of the chain." }),
    lagRows: z.int(),
    lagSeconds: z
      .number()
      .meta({ description: "Age of the oldest row that the webhook or the storage has not accepted yet, in seconds." }),
    rowsSent: z.int(),
    consecutiveFailures: z.int(),
    lastError: z.string().nullable(),
    lastErrorAt: timeOut.nullable(),
    lastSuccessAt: timeOut.nullable(),
    nextAttemptAt: timeOut.nullable().meta({ description: "Time of the next attempt; null unless the stream fails." }),
    createdBy: idOut,
    createdAt: timeOut,
  })
  .meta({ id: "AuditStream" });

const orgId = id.optional().meta({ description: "Required unless the caller belongs to one organization." });
const errors = [...listErrors, "organization_context_required"] as const;
const read = { auth: "session", permission: "audit:write" } as const;
const write = { ...read, mfa: true } as const;

const list = route({
  method: "GET",
  path: "/audit-logs/streams",
  access: read,
  tag,
  summary: "Streams of an organization's audit rows, newest first",
  query: listQuery.extend({ orgId }),
  reply: z.object({ data: z.array(stream), pagination }),
  errors,
  async handle({ query, rpc }, { services }) {
    const { streams } = await services.auditStreams.listStreams({ orgId: query.orgId ?? "" }, await rpc());
    // An organization has a handful: the service answers with all of them.
    const { page, limit, skipCount } = pageOf(query);
    const data = streams.slice((page - 1) * limit, page * limit).map(streamOf);
    return { data, pagination: { page, limit, total: skipCount ? null : streams.length, nextCursor: null } };
  },
});

const create = route({
  method: "POST",
  path: "/audit-logs/streams",
  audit: "audit.stream.create",
  auditResource: "audit_stream",
  access: write,
  tag,
  summary: "Stream an organization's audit rows",
  description:
    "To a webhook, signed as deliveries are, to an HTTPS sink such as Splunk, Elasticsearch or Datadog, with headers of its own, to a bucket of yours, to a syslog receiver over TLS, or to the operator's storage. In the chain's order and at least once; a receiver detects a repeat by `seq`. A failing stream backs off and continues with the row that failed.",
  body: z.object({
    orgId,
    name: nameIn,
    type,
    format: format.optional(),
    envelope: envelope.optional(),
    headers: requestHeadersIn.nullish().meta({
      description:
        "Of type `https`: sent with each request, for example `Authorization`. Sealed, and never shown again.",
    }),
    url: z.string().min(1).max(4_096).optional().meta({
      description:
        "URL of a webhook or an HTTPS sink: HTTPS, to a public host, or to a private one that the operator has opened. Of a syslog receiver: `tls://host:port`.",
    }),
    s3: bucket
      .extend({ secretAccessKey: z.string().min(1).max(256).optional() })
      .nullish()
      .meta({ description: "Bucket of yours, of type `s3`. The secret is sealed, and never shown again." }),
    ca: z.string().min(1).max(65_536).nullish().meta({
      description:
        "PEM of the authority of the sink's certificate, of type `https`, `s3` or `syslog`; without it, the system's.",
    }),
    secret: secretIn
      .min(1)
      .optional()
      .meta({ description: "Signing secret of a webhook; without it, one is generated." }),
    from: z
      .enum(["now", "start"])
      .optional()
      .meta({ description: "Row to begin with; `start` is the first retained one.", default: "now" }),
  }),
  example: { orgId: exampleId, name: "Archive", type: "archive" },
  bodyLimitBytes: 160 * 1024,
  status: 201,
  idempotent: true,
  noStore: true,
  reply: stream.extend({ secret: z.string().optional().meta({ description: "For a webhook. Shown only once." }) }),
  errors: [...errors, "invalid_webhook_url", "limit_reached"],
  async handle({ body, rpc }, { services }) {
    const { format: wantedFormat = "", envelope: wantedEnvelope = "", headers: sent } = body;
    const reply = await services.auditStreams.createStream(
      {
        orgId: body.orgId ?? "",
        name: body.name,
        type: body.type,
        url: body.url ?? "",
        secret: body.secret ?? "",
        fromStart: body.from === "start",
        format: wantedFormat,
        envelope: wantedEnvelope,
        headers: sent ?? [],
        ca: body.ca ?? "",
        ...(body.s3 ? { bucket: body.s3 } : {}),
      },
      await rpc(),
    );
    return { ...streamOf(reply.stream), ...(reply.secret === "" ? {} : { secret: reply.secret }) };
  },
});

const get = route({
  method: "GET",
  path: "/audit-logs/streams/:id",
  access: read,
  tag,
  summary: "One stream of audit rows",
  params: idParams,
  reply: stream,
  errors: ["audit_stream_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    return streamOf((await services.auditStreams.getStream({ id: params.id }, await rpc())).stream);
  },
});

const update = route({
  method: "PATCH",
  path: "/audit-logs/streams/:id",
  audit: "audit.stream.update",
  auditResource: "audit_stream",
  access: write,
  tag,
  summary: "Pause or resume a stream of audit rows",
  params: idParams,
  body: z.object({ status: z.enum(["active", "paused"]).optional() }),
  example: { status: "paused" },
  reply: stream,
  errors: ["audit_stream_not_found", "no_updates", "site_restricted"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, status: body.status ?? "" };
    return streamOf((await services.auditStreams.updateStream(wanted, await rpc())).stream);
  },
});

const test = route({
  method: "POST",
  path: "/audit-logs/streams/:id/test",
  audit: "audit.stream.test",
  auditResource: "audit_stream",
  access: write,
  tag,
  summary: "Send the newest row once more and show the answer",
  description: "The stream's position and state stay. A sink that knows the row's id stores nothing twice.",
  params: idParams,
  reply: z.object({
    accepted: z.boolean(),
    status: z.int().nullable().meta({ description: "Status of the answer; null without one, and for the archive." }),
    error: z.string().nullable(),
    answer: z.string().meta({ description: "The beginning of the answer's body, at most 1,000 characters." }),
  }),
  errors: ["audit_stream_not_found", "overloaded", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const { accepted, status, error, answer } = await services.auditStreams.testStream({ id: params.id }, await rpc());
    return { accepted, status: status ?? null, error: error || null, answer };
  },
});

const remove = route({
  method: "DELETE",
  path: "/audit-logs/streams/:id",
  audit: "audit.stream.delete",
  auditResource: "audit_stream",
  access: write,
  tag,
  summary: "End a stream of audit rows",
  params: idParams,
  reply: success,
  errors: ["audit_stream_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.auditStreams.deleteStream({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

function streamOf(message: Stream | undefined): z.input<typeof stream> {
  if (!message) throw new Error("audit answered without a stream");
  const [cursorSeq, headSeq] = [Number(message.cursorSeq), Number(message.headSeq)];
  return {
    id: message.id,
    orgId: message.orgId,
    name: message.name,
    type: type.parse(message.type),
    // An audit service of 0.1.0 does not say it, and writes rows.
    format: format.parse(message.format || "muster"),
    envelope: message.envelope === "" ? null : envelope.parse(message.envelope),
    headerKeys: message.headerKeys,
    s3: message.bucket ? bucketOf(message.bucket) : null,
    hasCa: message.hasCa,
    url: message.url || null,
    status: status.parse(message.status),
    health: healthOrNull(message.health),
    secretStrength: strengthOf(message.secretStrength),
    cursorSeq,
    headSeq,
    lagRows: Math.max(0, headSeq - cursorSeq),
    lagSeconds: message.lagSeconds,
    rowsSent: Number(message.rowsSent),
    consecutiveFailures: message.failures,
    lastError: message.lastError || null,
    lastErrorAt: timeOrNull(message.lastErrorAt),
    lastSuccessAt: timeOrNull(message.lastSuccessAt),
    nextAttemptAt: timeOrNull(message.nextAttemptAt),
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
  };
}

function bucketOf({ bucket: name, region, endpoint, prefix, pathStyle, accessKeyId, roleArn }: StreamBucket) {
  const where = { bucket: name, region, endpoint: endpoint || null, prefix, pathStyle };
  return { ...where, accessKeyId: accessKeyId || null, roleArn: roleArn || null };
}

export const auditStreamRoutes: readonly Route[] = [list, create, get, update, test, remove];
