import { fromBinary, fromJson } from "@bufbuild/protobuf";
import { validationError } from "@muster/kit";
import {
  type ExportLogsServiceRequest,
  ExportLogsServiceRequestSchema as RequestSchema,
} from "@muster/proto/opentelemetry/proto/collector/logs/v1/logs_service_pb";
import { BoundsError, boundsOfBytes, maxOtlpDepth } from "./otlp-bounds.ts";
import { protobufJsonOf } from "./otlp-json.ts";
import { utf8Text } from "./utf8.ts";

export type OtlpEncoding = "protobuf" | "json";

/** A request that was decoded; `replaced` counts its invalid UTF-8, bytes of protobuf, sequences of JSON. */
export type OtlpRequest = { request: ExportLogsServiceRequest; replaced: number };

/**
 * Decodes a request of OTLP. Bytes of protobuf that are no UTF-8 are changed in place. Throws `validation_failed` when
 * it is none, or holds more than `otlp-bounds.ts` permits.
 */
export function readOtlp(body: Uint8Array, encoding: OtlpEncoding): OtlpRequest {
  try {
    return encoding === "json" ? ofJson(body) : ofBytes(body);
  } catch (error) {
    if (error instanceof BoundsError) throw validationError({ resourceLogs: [error.message] });
    throw validationError({}, [`Must be an ExportLogsServiceRequest of OTLP in ${encoding}`]);
  }
}

function ofBytes(body: Uint8Array): OtlpRequest {
  const { replaced } = boundsOfBytes(RequestSchema, body);
  const options = { readUnknownFields: false, recursionLimit: maxOtlpDepth + 1 };
  return { request: fromBinary(RequestSchema, body, options), replaced };
}

function ofJson(body: Uint8Array): OtlpRequest {
  const { text, replaced } = utf8Text(body);
  const { value } = protobufJsonOf(text);
  return { request: fromJson(RequestSchema, value, { ignoreUnknownFields: true }), replaced };
}
