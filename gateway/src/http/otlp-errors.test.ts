import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { AppError, type ErrorCode, validationError } from "@muster/kit";
import { StatusSchema } from "@muster/proto/google/rpc/status_pb";
import { isProtobuf, otlpErrorReply, protobufMediaType } from "./otlp-errors.ts";

const reply = (error: unknown, contentType: string | null = "application/json") =>
  otlpErrorReply(error, "r1", contentType);

describe("a failure of OTLP over HTTP", () => {
  // Numbers of https://grpc.io/docs/guides/status-codes/.
  it.each<[ErrorCode, number, number]>([
    ["validation_failed", 400, 3],
    ["unauthenticated", 401, 16],
    ["permission_denied", 403, 7],
    ["device_not_found", 404, 5],
    ["principal_disabled", 409, 9],
    ["rate_limited", 429, 8],
    ["unavailable", 503, 14],
    ["internal", 500, 2],
  ])("has for %s the status %d and code %d", (code, status, number) => {
    const made = reply(new AppError(code, "No"));
    expect([made.status, made.contentType, JSON.parse(String(made.body))]).toEqual([
      ...[status, "application/json"],
      { code: number, message: expect.stringMatching(new RegExp(`^${code}: .* \\(request r1\\)$`)) },
    ]);
  });

  it("names the fields of the request that are wrong", () => {
    const { body } = reply(validationError({ resourceLogs: ["At most 5000"] }));
    expect(JSON.parse(String(body)).message).toContain(
      '{"formErrors":[],"fieldErrors":{"resourceLogs":["At most 5000"]}}',
    );
  });

  it("is in the encoding of its request", () => {
    const { body, contentType } = reply(new AppError("rate_limited", "No"), protobufMediaType);
    expect([contentType, isProtobuf(contentType), isProtobuf(null)]).toEqual([protobufMediaType, true, false]);
    expect(fromBinary(StatusSchema, body as Buffer)).toMatchObject({
      code: 8,
      message: "rate_limited: No (request r1)",
    });
  });
});
