import { create, toBinary } from "@bufbuild/protobuf";
import { ExportLogsServiceResponseSchema as ResponseSchema } from "@muster/proto/opentelemetry/proto/collector/logs/v1/logs_service_pb";
import { z } from "zod";
import { otlpMediaTypes, protobufMediaType } from "../../http/otlp-errors.ts";
import { Answered, Rendered, Streamed } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { idParams } from "../fields/schemas.ts";
import { bodyLimitBytes, quotaHeaders, quotaLines } from "./agent-logs.ts";

type Partial = { rejectedLogRecords: bigint; errorMessage: string };

/** Logs of OpenTelemetry, as its collector's `otlphttp` exporter sends them. */
const appendOtlp = route({
  method: "POST",
  path: "/agents/:id/otlp/v1/logs",
  access: { auth: "agent" },
  tag: "Agents",
  summary: "Store logs of OpenTelemetry (OTLP over HTTP)",
  description:
    "An ExportLogsServiceRequest with at most 5,000 records, in protobuf or JSON; the reply, also an error, has the same encoding. Records that cannot be stored are counted in `partialSuccess`. The same body from the same device within 10 minutes is stored once. Takes gzip.",
  params: idParams,
  body: z.object({
    resourceLogs: z
      .array(z.record(z.string(), z.unknown()))
      .optional()
      .meta({ description: "As opentelemetry-proto 1.11.0 describes it." }),
  }),
  example: { resourceLogs: [] },
  raw: otlpMediaTypes,
  dialect: "otlp",
  bodyLimitBytes,
  load: "ingest",
  reply: z.object({
    partialSuccess: z
      .object({
        rejectedLogRecords: z.string().meta({ description: "Number of records that were not stored." }),
        errorMessage: z.string(),
      })
      .optional()
      .meta({ description: "Absent when every record was stored." }),
  }),
  answers: { 200: { description: "Success", headers: quotaHeaders } },
  errors: ["log_quota_exceeded"],
  async handle({ params, bodyBytes: body, mediaType, rpc }, { services }) {
    const isProtobuf = mediaType === protobufMediaType;
    const wanted = { deviceId: params.id, body, json: !isProtobuf };
    const { refused, firstError, quota } = await services.deviceLogs.appendOtlpLogs(wanted, await rpc());
    const partial = refused === 0 ? null : { rejectedLogRecords: BigInt(refused), errorMessage: firstError };
    const reply = isProtobuf ? protobufReply(partial) : new Rendered(JSON.stringify(jsonReply(partial)));
    return new Answered(200, quotaLines(quota), reply);
  },
});

function jsonReply(partial: Partial | null) {
  if (partial === null) return {};
  return { partialSuccess: { ...partial, rejectedLogRecords: String(partial.rejectedLogRecords) } };
}

function protobufReply(partial: Partial | null): Streamed {
  const bytes = toBinary(ResponseSchema, create(ResponseSchema, partial === null ? {} : { partialSuccess: partial }));
  return new Streamed(protobufMediaType, [], once(bytes));
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export const agentOtlpRoutes: readonly Route[] = [appendOtlp];
