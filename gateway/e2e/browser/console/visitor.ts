import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { testCertificate } from "@muster/testing";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { type Cluster, receiverHost } from "../../support/cluster.ts";
import { sharedCluster } from "../../support/shared-cluster.ts";
import { findChromium } from "../chromium.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * What axe checks in each theme: the themes differ in colours alone (styles/tokens). Guards that hand the focus on at
 * once are left out, since they stand in no reading order.
 */
const audits = [
  ["light", ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]],
  ["dark", { type: "rule", values: ["color-contrast", "link-in-text-block"] }],
] as const;

const spki = createHash("sha256")
  .update(new X509Certificate(testCertificate().cert).publicKey.export({ type: "spki", format: "der" }))
  .digest("base64");

/** A refusal that a test provokes is an answer of the API; the browser writes each into its console. */
const answered = /^Failed to load resource: the server responded with a status of (4\d\d|503)/;

/** What the browser writes about a connection that is refused or cut, and about a gateway that is broken. */
const lost =
  /^Failed to load resource: (net::ERR_(CONNECTION_|EMPTY_RESPONSE|SOCKET_|INCOMPLETE_)|the server responded with a status of 500)/;

/** Narrower screens, in pixels, have a card for each row of a table. */
const phonesBelow = 768;

/** What of a card is not read: texts that are wider than their box, and whatever reaches beyond the card. */
const cutInCards = `
  [...document.querySelectorAll("main tbody tr")].flatMap((card) => {
    const box = card.getBoundingClientRect();
    return [...card.querySelectorAll("*")]
      .filter((each) => {
        if (!each.checkVisibility() || each.closest(".visually-hidden, svg, wbr")) return false;
        const { left, right, top, bottom } = each.getBoundingClientRect();
        const isBeyond = left < box.left - 1 || right > box.right + 1 || top < box.top - 1 || bottom > box.bottom + 1;
        const { overflowX, display } = getComputedStyle(each);
        const isClipped = display !== "inline" && overflowX !== "visible" && each.scrollWidth > each.clientWidth + 1;
        return isBeyond || isClipped;
      })
      .map((each) => each.outerHTML.slice(0, 160));
  })`;

/** Wider screens, in pixels, have room for the states and buttons of every row. */
const roomyFrom = 1_280;

/** Cells with a state or a button that are wider than their column, and values of few letters that are not whole. */
const cutInRows = `
  [...document.querySelectorAll('main td:is([data-as="state"], [data-as="next"], [data-as="menu"])')]
    .filter((cell) => cell.scrollWidth > cell.clientWidth + 1)
    .map((cell) => cell.outerHTML.slice(0, 240))
    .concat(
      [...document.querySelectorAll("main tbody tr[data-index] :is(td, td *)")]
        .filter((each) => each.checkVisibility() && each.clientWidth > 1 && each.scrollWidth > each.clientWidth + 1)
        .filter((each) => getComputedStyle(each).textOverflow === "ellipsis")
        .map((each) => each.innerText.trim())
        .filter((text) => text.length > 0 && text.length <= 24))`;

export type Visitor = {
  cluster: Cluster;
  /** The address under which browsers know the cluster. */
  base: string;
  context: BrowserContext;
  page: Page;
  /** Signs a person in and goes to a page; a recovery code where they have a second factor. */
  signIn(user: { email: string; password: string }, next?: string, recoveryCode?: string): Promise<void>;
  /** Opens a path and waits for its heading. */
  open(path: string, heading: string | RegExp): Promise<void>;
  /** Follows a link inside the console, until the page that it leads to is settled; answers its path. */
  follow(link: Locator): Promise<string>;
  /** Goes to another path inside the console, as its address bar's history does, until the page is settled. */
  go(path: string): Promise<void>;
  /**
   * Waits until a row or control is gone from the page. An open dialog hides the whole page from roles, so that it has
   * to be gone first.
   */
  gone(control: Locator): Promise<void>;
  /** Waits until nothing is loading and every animation has ended. */
  settled(): Promise<void>;
  /** From now on, errors of the browser about a gateway that the test stops or breaks do not fail the test. */
  losingTheGateway(): void;
  /** Fails on accessibility violations of the settled page in both themes. */
  expectAccessible(): Promise<void>;
  /** The same on a wide screen and on a phone, where the page must not be wider than the screen. */
  expectAccessibleAtBothWidths(): Promise<void>;
  /** Nothing of the page reaches beyond a screen of this width, in pixels, and no text of a phone's card is cut. */
  expectFits(width: number): Promise<void>;
};

/**
 * The tests of a file with one browser, each in its own browser context: a policy violation or an error in the console
 * fails the test. Without a Chromium they are skipped with a message. `start` replaces the shared cluster by another
 * one.
 */
export function inChromium(
  what: string,
  declare: (visit: (name: string, test: (visitor: Visitor) => Promise<void>) => void) => void,
  { start = sharedCluster }: { start?: () => Promise<Cluster & { stop?(): Promise<void> }> } = {},
) {
  const found = findChromium();
  const missing = "missing" in found ? found.missing : null;
  if (missing !== null) process.stdout.write(`not run: ${what} (${missing})\n`);
  let cluster: Awaited<ReturnType<typeof start>>;
  let browser: Browser;

  describe(what, () => {
    it("has a browser where everything must run (CI)", () => {
      if (missing !== null && process.env.CI === "true") throw new Error(missing);
    });
    if (missing !== null || !("path" in found)) return;
    beforeAll(async () => {
      cluster = await start();
      browser = await chromium.launch({
        executablePath: found.path,
        headless: true,
        args: [
          // Root has no sandbox; and everything the pages load is ours.
          "--no-sandbox",
          "--disable-dev-shm-usage",
          "--disable-gpu",
          `--host-resolver-rules=MAP ${receiverHost} 127.0.0.1`,
          `--ignore-certificate-errors-spki-list=${spki}`,
        ],
        timeout: 120_000,
      });
    }, 300_000);
    afterAll(async () => {
      await browser?.close();
      await cluster?.stop?.();
    }, 60_000);
    declare((name, test) =>
      it(name, async () => {
        const problems: string[] = [];
        const visitor = await newVisitor(cluster, browser, problems);
        try {
          await test(visitor);
          expect(problems).toEqual([]);
        } finally {
          await visitor.context.close();
        }
      }, 120_000),
    );
  });
}

async function newVisitor(cluster: Cluster, browser: Browser, problems: string[]): Promise<Visitor> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB" });
  context.setDefaultTimeout(30_000);
  let mayLose = false;
  context.on("console", (message) => {
    const text = message.text();
    const isExpected = answered.test(text) || (mayLose && lost.test(text));
    if (message.type() === "error" && !isExpected) problems.push(text);
  });
  context.on("weberror", (error) => problems.push(String(error.error())));
  await context.exposeBinding("musterViolation", (_source, violation: string) => {
    problems.push(violation);
  });
  await context.addInitScript(`
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      musterViolation("policy: " + violatedDirective + " " + blockedURI);
    });`);
  const page = await context.newPage();
  const base = `http://localhost:${new URL(cluster.url).port}`;
  const heading = page.getByRole("heading", { level: 1 });
  const settled = async () => {
    await page
      .getByText(/^Loading/)
      .first()
      .waitFor({ state: "detached" });
    // A cancelled animation has ended, too.
    await page.evaluate("Promise.allSettled(document.getAnimations().map(({ finished }) => finished))");
  };
  /** Leaves for another page, and waits until that one is settled. */
  const leave = async (pathname: string, begin: () => Promise<unknown>) => {
    const isOther = new URL(page.url()).pathname !== pathname;
    const before = await heading.elementHandle();
    await begin();
    await page.waitForURL((url) => url.pathname === pathname);
    // The earlier page stays, with its controls, until the next one has been loaded.
    if (isOther) await before?.waitForElementState("hidden");
    await heading.waitFor();
    await settled();
  };
  const expectAccessible = async () => {
    await settled();
    if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
    for (const [colorScheme, runOnly] of audits) {
      await page.emulateMedia({ colorScheme });
      await settled();
      const violations = (await page.evaluate(`
        axe.run({ exclude: ["[data-base-ui-focus-guard]"] }, { runOnly: ${JSON.stringify(runOnly)} })
          .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" | ")))
      `)) as string[];
      expect({ colorScheme, violations }).toEqual({ colorScheme, violations: [] });
    }
    await page.emulateMedia({ colorScheme: null });
  };
  const expectFits = async (width: number) => {
    await page.setViewportSize({ width, height: 900 });
    await settled();
    // What reaches beyond the page or its main part, where one of them scrolls to the side: the cause is among them.
    const beyond = (await page.evaluate(`
      [document.documentElement, document.getElementById("main")].every((box) => !box || box.scrollWidth <= box.clientWidth)
        ? []
        : [...document.body.querySelectorAll("*")]
            .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
            .map((each) => each.outerHTML.slice(0, 160))`)) as string[];
    const cuts = width < phonesBelow ? cutInCards : width >= roomyFrom ? cutInRows : null;
    const cut = cuts === null ? [] : ((await page.evaluate(cuts)) as string[]);
    expect({ url: page.url(), width, beyond, cut }).toEqual({ url: page.url(), width, beyond: [], cut: [] });
  };
  return {
    cluster,
    base,
    context,
    page,
    settled,
    go: (path) => leave(path, () => page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`)),
    async gone(control) {
      await page.locator("[role=dialog], [role=alertdialog]").first().waitFor({ state: "detached" });
      await control.waitFor({ state: "detached" });
    },
    losingTheGateway() {
      mayLose = true;
    },
    async follow(link) {
      const { pathname } = new URL((await link.getAttribute("href")) ?? "", base);
      await leave(pathname, () => link.click());
      return pathname;
    },
    async signIn({ email, password }, next = "/", recoveryCode = undefined) {
      await page.goto(`${base}/login?next=${encodeURIComponent(next)}`);
      await page.getByLabel("E-mail").fill(email);
      await page.getByLabel("Password").fill(password);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      if (recoveryCode !== undefined) {
        const other = page.getByRole("button", { name: "Use a recovery code" });
        await other.click();
        await page.getByLabel("Recovery code").fill(recoveryCode);
        await page.getByRole("button", { name: "Continue" }).click();
      }
      await page.getByRole("button", { name: "Sign out" }).waitFor();
    },
    async open(path, heading) {
      await page.goto(`${base}${path}`);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    },
    expectAccessible,
    expectFits,
    async expectAccessibleAtBothWidths() {
      for (const width of [390, 1440]) {
        await expectFits(width);
        await expectAccessible();
      }
    },
  };
}
