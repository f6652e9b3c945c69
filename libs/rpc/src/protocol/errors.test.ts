import { Code, ConnectError } from "@connectrpc/connect";
import { errorFromJsonBytes, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { describe, expect, it } from "@jest/globals";
import { AppError, errorCodes } from "@muster/kit";
import { ErrorInfoSchema } from "@muster/proto/google/rpc/error_details_pb";
import { toAppError, toConnectError } from "./errors.ts";

const overTheWire = (error: ConnectError): ConnectError =>
  errorFromJsonBytes(errorToJsonBytes(error, undefined), undefined, new ConnectError("not an error", Code.Unknown));

describe("typed errors across RPC", () => {
  it.each(errorCodes)("brings %s back with text, facts and retryAfterSeconds", (code) => {
    const sent = new AppError(code, "A public text", {
      facts: { limit: 3, details: { fieldErrors: { "a.b": ["no"] } }, nothing: undefined },
      retryAfterSeconds: 7,
    });
    const got = toAppError(overTheWire(toConnectError(sent)));
    expect(got).toBeInstanceOf(AppError);
    expect(got.code).toBe(code);
    expect(got.message).toBe("A public text");
    expect(got.facts).toEqual({ limit: 3, details: { fieldErrors: { "a.b": ["no"] } } });
    expect(got.retryAfterSeconds).toBe(7);
  });

  it("shows stock tools google.rpc.ErrorInfo with reason, domain and JSON text", () => {
    const [info] = toConnectError(new AppError("limit_reached", "Full", { facts: { limit: 3 } })).findDetails(
      ErrorInfoSchema,
    );
    expect(info).toMatchObject({ reason: "limit_reached", domain: "muster", metadata: { limit: "3" } });
  });

  it.each([
    [new ConnectError("connect ECONNREFUSED 10.0.0.1", Code.Unavailable), "unavailable", "Service is unavailable", 1],
    [
      new ConnectError("the operation timed out", Code.DeadlineExceeded),
      "deadline_exceeded",
      "Deadline exceeded",
      undefined,
    ],
    [new ConnectError("aborted", Code.Canceled), "cancelled", "Cancelled", undefined],
    [new ConnectError("a stack trace", Code.Internal), "internal", "Internal error", undefined],
    [new ConnectError("no such method", Code.Unimplemented), "unavailable", "Service is unavailable", 1],
    [new TypeError("x is undefined"), "internal", "Internal error", undefined],
  ])("turns %s into %s and keeps its text for the log", (thrown, code, message, retryAfterSeconds) => {
    const error = toAppError(thrown);
    expect(error).toMatchObject({ code, message, retryAfterSeconds });
    expect(error.cause).toBe(thrown);
  });

  it("falls back to the general code for a reason it does not know yet", () => {
    const newer = new ConnectError("Widget is missing", Code.NotFound, undefined, [
      { desc: ErrorInfoSchema, value: { reason: "widget_not_found", domain: "muster", metadata: {} } },
    ]);
    expect(toAppError(overTheWire(newer))).toMatchObject({ code: "not_found", message: "Widget is missing" });
  });

  it("does not trust ErrorInfo of another domain", () => {
    const foreign = new ConnectError("secret detail", Code.Internal, undefined, [
      { desc: ErrorInfoSchema, value: { reason: "slug_taken", domain: "elsewhere", metadata: {} } },
    ]);
    expect(toAppError(overTheWire(foreign)).code).toBe("internal");
  });
});
