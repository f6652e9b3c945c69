import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "@jest/globals";
import { type Reply, streamOf } from "./failure.ts";

const replyOf = (status: number, headers = {}) => new Response(null, { status, headers });

describe("a reply that was requested as a stream", () => {
  it("is read as it comes, with its headers", async () => {
    const response = replyOf(200, { "x-export-truncated": "true" });
    const { source, headers } = await streamOf(Promise.resolve({ data: new Response("rows").body, response }));
    expect(headers.get("x-export-truncated")).toBe("true");
    expect((await buffer(source)).toString()).toBe("rows");
  });

  it.each([
    ["the API's error", { error: "No", code: "not_found", requestId: "1" }, 404, { exitCode: 5, message: "No" }],
    ["a page of a proxy", "<html>", 502, { exitCode: 6, message: "HTTP 502" }],
    ["nothing", undefined, 503, { exitCode: 6, message: "HTTP 503" }],
  ])("is a failure where it is %s", async (_name, error, status, failure) => {
    const reply = { error, response: replyOf(status) } as Reply<unknown>;
    await expect(streamOf(Promise.resolve(reply))).rejects.toMatchObject(failure);
  });
});
