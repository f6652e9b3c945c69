import { describe, expect, it } from "@jest/globals";
import { openApiDocument } from "../../src/openapi/document.ts";
import { routes } from "../../src/routes/index.ts";
import { checkerOf, type Replied } from "./documented.ts";

const problemOf = checkerOf(openApiDocument(routes, { version: "1" }) as never);
const refusal = { error: "Text", code: "unauthenticated", requestId: "r" };
const replied = (change: Partial<Replied> & { body?: unknown }): Replied => ({
  method: "GET",
  path: "/api/v1/auth/sessions?limit=1",
  status: 401,
  headers: new Headers({ "content-type": "application/json; charset=utf-8" }),
  text: JSON.stringify(change.body ?? refusal),
  ...change,
});

describe("the check of replies against the OpenAPI document", () => {
  it("finds nothing in what the document describes, nor in what is of no operation", () => {
    expect(problemOf(replied({}))).toBeNull();
    expect(problemOf(replied({ path: "/api/v1/nothing", status: 404 }))).toBeNull();
  });

  it.each<[string, Parameters<typeof replied>[0], RegExp]>([
    ["a status", { status: 418 }, /^status 418 is missing/],
    ["a content type", { headers: new Headers({ "content-type": "text/html" }) }, /^content type text\/html/],
    ["an error code", { body: { ...refusal, code: "moon_is_full" } }, /^body of status 401/],
    ["an error code of another status", { body: { ...refusal, code: "internal" } }, /^body of status 401/],
    ["a field that is missing", { body: { error: "Text", code: "unauthenticated" } }, /requestId/],
    ["a field of another type", { status: 200, body: { data: "none", pagination: null } }, /^body of status 200/],
    [
      "the content type of the key set",
      { path: "/.well-known/jwks.json", status: 200, body: { keys: [] } },
      /^content type application\/json/,
    ],
  ])("finds %s that the document does not have", (_what, change, problem) => {
    expect(problemOf(replied(change))).toMatch(problem);
  });
});
