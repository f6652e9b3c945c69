import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";
import { listening, testCertificate } from "@muster/testing";
import { ownCluster } from "../../support/cluster.ts";
import { newPartner, signedInAs, type TestUser } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

const program = fileURLToPath(new URL("../../../../deploy/cli/muster.mjs", import.meta.url));
const newer = { version: "99.0.0", url: "https://muster.example.com/99.0.0" };

/** A cluster whose operator set RELEASE_FEED_URL: the feed names a release that is newer than any. */
async function clusterWithFeed() {
  const server = createServer(testCertificate(), (_request, response) => response.end(JSON.stringify(newer)));
  const { port, close } = await listening(server);
  const cluster = await ownCluster({
    RELEASE_FEED_URL: `https://feed.example.test:${port}/release.json`,
    EGRESS_TEST_EXCEPTIONS: `feed.example.test:${port}=127.0.0.1`,
  });
  return {
    ...cluster,
    async stop() {
      await cluster.stop();
      await close();
    },
  };
}

/** What `muster` writes to standard error, in a folder of its own. */
async function commandLine(
  url: string,
  use: (run: (args: string[], input?: string) => Promise<string>) => Promise<void>,
) {
  const folder = mkdtempSync(join(tmpdir(), "muster-newer-"));
  const env = { PATH: process.env.PATH ?? "", HOME: folder, MUSTER_URL: url, MUSTER_CONFIG_DIR: folder };
  const run = async (args: string[], input = "") => {
    const child = spawn(process.execPath, [program, ...args], { env, stdio: ["pipe", "ignore", "pipe"] });
    let text = "";
    child.stderr.on("data", (chunk) => {
      text += chunk;
    });
    child.stdin.end(input);
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`muster ${args.join(" ")} ended with ${code}: ${text}`);
    return text;
  };
  try {
    await use(run);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The overview of a person, whole; resolves to what it calls the platform's state by. */
async function overviewOf({ page, signIn, settled }: Visitor, user: TestUser): Promise<string[]> {
  const requested: string[] = [];
  page.on("request", (request) => requested.push(new URL(request.url()).pathname));
  await signIn(user);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await settled();
  return requested.filter((path) => path === "/api/v1/platform/status");
}

const sentence =
  /muster: release 99\.0\.0 is newer than this platform's .*: https:\/\/muster\.example\.com\/99\.0\.0\n/;

inChromium(
  "a newer release",
  (visit) => {
    visit("is shown to a platform administrator until it is put away", async (visitor) => {
      const { cluster, page } = visitor;
      await overviewOf(visitor, await signedInAs(cluster, "platform-admin"));
      const note = page.getByRole("note").filter({ hasText: "Release 99.0.0 is newer than this platform’s" });
      await note.waitFor();
      expect(await note.getByRole("link", { name: "What is new" }).getAttribute("href")).toBe(newer.url);
      await visitor.expectAccessible();
      await note.getByRole("button", { name: "Put away" }).click();
      await visitor.gone(note);
      await visitor.open("/", /./);
      await visitor.settled();
      expect(await note.count()).toBe(0);
    });

    visit("is neither shown to people of a partner nor asked for by them", async (visitor) => {
      const { cluster, page } = visitor;
      const user = await signedInAs(cluster, "partner-admin", {
        partnerId: await newPartner(cluster),
        orgAccess: "all",
      });
      expect(await overviewOf(visitor, user)).toEqual([]);
      expect(await page.getByText("99.0.0").count()).toBe(0);
      await commandLine(cluster.url, async (run) => {
        expect(await run(["login", "--email", user.email], `${user.password}\n`)).not.toMatch(/99\.0\.0/);
        expect(await run(["status"])).not.toMatch(/99\.0\.0/);
      });
    });

    visit("is reported by the command line once", async ({ cluster }) => {
      const user = await signedInAs(cluster, "platform-admin");
      await commandLine(cluster.url, async (run) => {
        expect(await run(["login", "--email", user.email], `${user.password}\n`)).toMatch(sentence);
        expect(await run(["status"])).not.toMatch(/99\.0\.0/);
        expect(await run(["login", "--email", user.email], `${user.password}\n`)).not.toMatch(/99\.0\.0/);
      });
    });
  },
  { start: clusterWithFeed },
);

inChromium("no feed of releases", (visit) => {
  visit("says nothing of a newer release, to a platform administrator either", async (visitor) => {
    const user = await signedInAs(visitor.cluster, "platform-admin");
    expect(await overviewOf(visitor, user)).toEqual(["/api/v1/platform/status"]);
    expect(await visitor.page.getByRole("note").count()).toBe(0);
    await commandLine(visitor.cluster.url, async (run) => {
      expect(await run(["login", "--email", user.email], `${user.password}\n`)).not.toMatch(/is newer/);
      expect(await run(["status"])).not.toMatch(/is newer/);
    });
  });
});
