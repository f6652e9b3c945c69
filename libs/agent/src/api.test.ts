import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { testCaFile, testCertificate } from "@muster/testing";
import { type Api, createApi } from "./api.ts";
import { downloadOffer } from "./download.ts";
import type { Offer } from "./offer.ts";

const closing: (() => Promise<unknown>)[] = [];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-api-"));
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(listener: RequestListener, server: Server = createServer(listener)): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function apiOf(url: string, more: { replyMs?: number; ca?: string[] } = {}): Api {
  const api = createApi({ url, connections: 1, userAgent: "test", ...more });
  closing.unshift(api.close);
  return api;
}

const mebibyte = 1024 * 1024;

/** Sends a byte every few milliseconds, for ever. */
const drip: RequestListener = (_request, response) => {
  const timer = setInterval(() => response.write(" "), 5);
  response.on("close", () => clearInterval(timer));
};

describe("a request", () => {
  it("follows no redirect: the token goes to one origin", async () => {
    const received: (string | undefined)[] = [];
    const elsewhere = await serve((request, response) => {
      received.push(request.headers.authorization);
      response.end("{}");
    });
    const url = await serve((_request, response) => void response.writeHead(307, { location: elsewhere }).end());
    const reply = await apiOf(url).call("POST", "/agents/a/heartbeat", {}, { token: "agt_secret" });
    expect([reply.status, received]).toEqual([307, []]);
  });

  it.each<[string, RequestListener]>([
    ["is larger than 4 MiB", (_request, response) => void response.end(Buffer.alloc(5 * mebibyte, 32))],
    [
      "is cut",
      (_request, response) =>
        void response.writeHead(200, { "content-length": 10 }).write("{", () => response.destroy()),
    ],
  ])("has no answer when the reply %s", async (_name, listener) => {
    const reply = await apiOf(await serve(listener)).call("POST", "/x", {});
    expect([reply.status, reply.body]).toEqual([0, {}]);
  });

  it("has no answer when its reply drips for longer than a reply may take", async () => {
    const reply = await apiOf(await serve(drip), { replyMs: 50 }).call("POST", "/x", {});
    expect([reply.status, reply.body]).toEqual([0, {}]);
  });

  it.each<[string, RequestListener]>([
    ["a page", (_request, response) => void response.end("<html>")],
    ["null", (_request, response) => void response.end("null")],
    [
      "packed, which was not requested",
      (_request, response) =>
        void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(50 * mebibyte))),
    ],
  ])("reads nothing from a reply that is %s", async (_name, listener) => {
    const reply = await apiOf(await serve(listener)).call("POST", "/x", {});
    expect([reply.status, reply.body]).toEqual([200, {}]);
  });
});

describe("a download", () => {
  const offerAt = (url: string, size = 10): Offer => {
    const about = { attemptId: "a", component: "agent" as const, version: "1.1.0" };
    const notes = { manifest: null, rootNotes: [], rollbackNote: null };
    return { ...about, ...notes, url, size, sha256: "0".repeat(64) };
  };
  const deps = (api: Api) => ({ api, pause: async () => {}, backoffMs: () => 0 });

  it("follows three redirects at most, without a token", async () => {
    const hops: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      hops.push(request.headers.authorization);
      response.writeHead(302, { location: `/hop${hops.length}` }).end();
    });
    const { status } = await apiOf(url).download(`${url}/file`, {});
    expect([status, hops]).toEqual([0, [undefined, undefined, undefined, undefined]]);
  });

  it("follows no redirect from https to http, and trusts no certificate but those of its authorities", async () => {
    const requests: string[] = [];
    const plain = await serve((request, response) => {
      requests.push(`plain ${request.url}`);
      response.end("x");
    });
    const redirect: RequestListener = (request, response) => {
      requests.push(`secure ${request.url}`);
      response.writeHead(302, { location: `${plain}/file` }).end();
    };
    const secure = (await serve(redirect, createTlsServer(testCertificate(), redirect))).replace("http:", "https:");
    const trusting = apiOf(secure, { ca: [readFileSync(testCaFile, "utf8")] });
    expect(await trusting.download(`${secure}/file`, {})).toMatchObject({ status: 0, body: null });
    expect(requests).toEqual(["secure /file"]);
    expect(await apiOf(secure).download(`${secure}/other`, {})).toMatchObject({ status: 0, body: null });
    expect(requests).toEqual(["secure /file"]);
  });

  it("ends after its tries when it drips, and keeps what arrived", async () => {
    const url = await serve(drip);
    const path = join(folder, "part");
    const slow = { ...deps(apiOf(url)), tryMs: 20 };
    await expect(downloadOffer(slow, offerAt(url, mebibyte), path)).rejects.toThrow("truncated after");
    expect(statSync(path).size).toBeLessThan(1_000);
  });

  it("stops one byte beyond the size of the offer, however much is sent", async () => {
    let sent = 0;
    const url = await serve((_request, response) => {
      const more = (): void => {
        sent += mebibyte;
        if (sent < 1024 * mebibyte && !response.destroyed) response.write(Buffer.alloc(mebibyte), more);
      };
      more();
    });
    const path = join(folder, "part");
    await expect(downloadOffer(deps(apiOf(url)), offerAt(url), path)).rejects.toThrow("11 bytes");
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    expect(sent).toBeLessThan(100 * mebibyte);
  });

  it("has another digest when its bytes are packed on the way", async () => {
    const packed = gzipSync(Buffer.alloc(mebibyte));
    const url = await serve(
      (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(packed),
    );
    const path = join(folder, "part");
    await expect(downloadOffer(deps(apiOf(url)), offerAt(url, packed.length), path)).rejects.toThrow(
      "not those of the release",
    );
  });
});
