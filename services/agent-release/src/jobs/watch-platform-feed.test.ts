import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { type Egress, openEgress, parseExceptions } from "@muster/egress";
import type { Logger } from "@muster/kit";
import { type Listening, listening, testCaFile, testCertificate } from "@muster/testing";
import { watchPlatformFeed } from "./watch-platform-feed.ts";

let at: Listening;
let egress: Egress;
let answer = { status: 200, body: "" };
let requests = 0;
const lines: string[] = [];
const log = { warn: ({ setting }: { setting: string }, line: string) => lines.push(`${setting}: ${line}`) };

beforeAll(async () => {
  const server = createServer(testCertificate(), (_request, response) => {
    requests += 1;
    response.writeHead(answer.status, { location: "https://10.0.0.1/" }).end(answer.body);
  });
  at = await listening(server);
  egress = openEgress({
    profile: "release",
    exceptions: parseExceptions(`feed.example.test:${at.port}=127.0.0.1`, "test"),
    ca: readFileSync(testCaFile, "utf8"),
  });
});
afterAll(async () => {
  await egress?.close();
  await at?.close();
});
beforeEach(() => {
  lines.splice(0);
  requests = 0;
});

const served = (port: number) => `https://feed.example.test:${port}/release.json`;

/** What is shown after one reading. */
async function shown(url: string | undefined, version = "1.4.0") {
  const feed = watchPlatformFeed({ egress, log: log as unknown as Logger, url, version });
  await feed.stop();
  return feed.newer();
}

it("asks nothing without the setting", async () => {
  expect(await shown(undefined)).toBeNull();
  expect([requests, lines]).toEqual([0, []]);
});

const url = "https://muster.example.com/1.5.0";
it.each([
  ["newer", "1.4.0", { version: "1.5.0", url }, { version: "1.5.0", url }],
  ["newer, without a page", "1.4.0", { version: "v1.5.0", images: {} }, { version: "1.5.0" }],
  ["the end of what is developed", "1.5.0-dev", { version: "1.5.0" }, { version: "1.5.0" }],
  ["this one", "1.5.0", { version: "1.5.0" }, null],
  ["older", "1.10.0", { version: "1.9.0" }, null],
])("reads a release that is %s", async (_what, version, body, expected) => {
  answer = { status: 200, body: JSON.stringify(body) };
  expect(await shown(served(at.port), version)).toEqual(expected);
  expect([requests, lines]).toEqual([1, []]);
});

it.each([
  ["no JSON", { status: 200, body: "<html>" }],
  ["no version", { status: 200, body: "{}" }],
  ["another version's form", { status: 200, body: '{"version":"newest"}' }],
  ["a script as its page", { status: 200, body: '{"version":"2.0.0","url":"javascript:alert(1)"}' }],
  ["more than 64 KiB", { status: 200, body: JSON.stringify({ version: "2.0.0", more: "x".repeat(70_000) }) }],
  ["an error", { status: 500, body: '{"version":"2.0.0"}' }],
  ["a private address behind a redirect", { status: 302, body: "" }],
])("shows nothing of a feed with %s, and logs it", async (_what, bad) => {
  answer = bad;
  expect(await shown(served(at.port))).toBeNull();
  expect(lines).toEqual([expect.stringContaining("the feed of releases cannot be read")]);
});

it.each(["http://169.254.169.254/latest", "https://127.0.0.1/", "https://10.0.0.1/feed"])(
  "never asks %s",
  async (address) => {
    expect(await shown(address)).toBeNull();
    expect(lines).toEqual([expect.stringContaining("RELEASE_FEED_URL")]);
  },
);

it("shows nothing any more once the feed is bad", async () => {
  answer = { status: 200, body: '{"version":"1.5.0"}' };
  const feed = watchPlatformFeed({ egress, log: log as unknown as Logger, url: served(at.port), version: "1.4.0" });
  await feed.read();
  expect(feed.newer()).toEqual({ version: "1.5.0" });
  answer = { status: 200, body: "" };
  await feed.read();
  await feed.stop();
  expect(feed.newer()).toBeNull();
});
