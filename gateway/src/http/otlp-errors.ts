import { create, toBinary } from "@bufbuild/protobuf";
import { AppError } from "@muster/kit";
import { StatusSchema } from "@muster/proto/google/rpc/status_pb";
import { type ErrorReply, errorReply } from "../errors.ts";
import { jsonMediaType, mediaTypeOf } from "./media-type.ts";

export const protobufMediaType = "application/x-protobuf";
/** What a request of OTLP over HTTP may be, and what its reply is then. */
export const otlpMediaTypes = [jsonMediaType, protobufMediaType] as const;

export const isProtobuf = (contentType: string | null): boolean =>
  contentType !== null && mediaTypeOf(contentType, otlpMediaTypes) === protobufMediaType;

/** Numbers of gRPC's codes by HTTP status; a retry is decided by the status alone. */
const codes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  408: 4,
  409: 9,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
  504: 4,
};
const unknownCode = 2;

/**
 * A failure as OTLP over HTTP describes it: a Status in the encoding of its request. Its message is our code, the text,
 * and the errors of the request by field.
 */
export function otlpErrorReply(
  error: unknown,
  requestId: string,
  contentType: string | null,
): Omit<ErrorReply, "body"> & { body: string | Buffer; contentType: string } {
  const reply = errorReply(error, requestId);
  const code = codes[reply.status] ?? unknownCode;
  const status = { code, message: `${reply.code}: ${textOf(error, reply)} (request ${requestId})` };
  if (!isProtobuf(contentType)) return { ...reply, body: JSON.stringify(status), contentType: jsonMediaType };
  const body = Buffer.from(toBinary(StatusSchema, create(StatusSchema, status)));
  return { ...reply, body, contentType: protobufMediaType };
}

function textOf(error: unknown, reply: ErrorReply): string {
  const { error: text } = JSON.parse(reply.body) as { error: string };
  const details = error instanceof AppError ? error.facts.details : undefined;
  return details === undefined ? text : `${text} ${JSON.stringify(details)}`;
}
