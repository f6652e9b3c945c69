import { describe, expect, it } from "@jest/globals";
import { AppError, type ErrorCode, errorCodes, validationError } from "@muster/kit";
import { EdgeError, errorReply, statusOf } from "./errors.ts";

describe("errorReply", () => {
  it.each<[ErrorCode, number]>([
    ["validation_failed", 400],
    ["unauthenticated", 401],
    ["token_expired", 401],
    ["session_revoked", 401],
    ["invalid_credentials", 401],
    ["permission_denied", 403],
    ["mfa_required", 403],
    ["scope_not_allowed", 403],
    ["misconfigured_account", 403],
    ["partner_inactive", 403],
    ["partner_not_found", 404],
    ["audit_log_not_found", 404],
    ["audit_verification_not_found", 404],
    ["slug_taken", 409],
    ["limit_reached", 409],
    ["rate_limited", 429],
    ["internal", 500],
    ["overloaded", 503],
    ["unavailable", 503],
    ["deadline_exceeded", 504],
  ])("answers %s with %d", (code, status) => {
    const reply = errorReply(new AppError(code, "Text"), "r1");
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.body)).toMatchObject({ code, requestId: "r1", error: expect.any(String) });
  });

  it("has a 4xx or 5xx and a text for every code", () => {
    for (const code of errorCodes) {
      expect(statusOf(code)).toBeGreaterThanOrEqual(400);
      expect(JSON.parse(errorReply(new AppError(code, "Text"), "r").body).error).not.toBe("");
    }
  });

  it("shows public facts beside the code, and never lets them replace it", () => {
    const error = new AppError("limit_reached", "Too many", { facts: { limit: 3, code: "x", requestId: "y" } });
    expect(JSON.parse(errorReply(error, "r1").body)).toEqual({
      limit: 3,
      error: "Too many",
      code: "limit_reached",
      requestId: "r1",
    });
    const { details } = JSON.parse(errorReply(validationError({ "a.b": ["no"] }), "r1").body);
    expect(details).toEqual({ formErrors: [], fieldErrors: { "a.b": ["no"] } });
  });

  it("reveals nothing of an unexpected error", () => {
    for (const error of [
      new Error("password=1"),
      "text",
      null,
      new AppError("internal", "stack", { facts: { sql: 1 } }),
    ]) {
      expect(JSON.parse(errorReply(error, "r1").body)).toEqual({
        error: "Internal server error",
        code: "internal",
        requestId: "r1",
      });
    }
  });

  it("has a Retry-After of at least a second", () => {
    const retryAfter = (error: unknown) => {
      const { headers } = errorReply(error, "r");
      return headers[headers.indexOf("Retry-After") + 1];
    };
    expect(retryAfter(new AppError("unavailable", "x"))).toBe("1");
    expect(retryAfter(new AppError("rate_limited", "x", { retryAfterSeconds: 12.2 }))).toBe("13");
    expect(retryAfter(new AppError("rate_limited", "x", { retryAfterSeconds: 0 }))).toBe("1");
  });

  it("names the scheme on 401, and sends the headers of an edge error", () => {
    expect(errorReply(new AppError("unauthenticated", "x"), "r").headers).toEqual(["WWW-Authenticate", "Bearer"]);
    expect(errorReply(new AppError("token_expired", "x"), "r").headers).toEqual([
      "WWW-Authenticate",
      'Bearer error="invalid_token"',
    ]);
    expect(errorReply(new EdgeError("method_not_allowed", "x", ["Allow", "GET"]), "r").headers).toEqual([
      "Allow",
      "GET",
    ]);
  });
});
