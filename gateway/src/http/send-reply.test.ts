import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sendBare } from "./send-reply.ts";

let server: Server;
beforeAll(async () => {
  server = createServer(({ url }, response) => sendBare(response, Number(url?.slice(1)), "r-1", null));
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

describe("a reply without a body", () => {
  it.each([
    [200, "0"],
    [202, "0"],
    [204, null],
    [304, null],
  ])("%d has the length %p", async (status, length) => {
    const { port } = server.address() as AddressInfo;
    const reply = await fetch(`http://127.0.0.1:${port}/${status}`);
    expect([reply.status, reply.headers.get("content-length")]).toEqual([status, length]);
    expect(reply.headers.get("x-request-id")).toBe("r-1");
  });
});
