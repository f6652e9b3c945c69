import { startStack } from "@muster/local";
import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import { newAdministrator, newOrganization, newUser, password } from "./administrator.ts";
import { fillTenant } from "./console-rows.ts";
import { percentiles } from "./percentiles.ts";
import type { Report } from "./report.ts";

/** As a phone on a slow network: 1.6 Mbit/s, 150 ms, a quarter of this processor. */
const slow = { latency: 150, downloadThroughput: 200_000, uploadThroughput: 200_000, offline: false };
const slowCpu = 4;
const coldRuns = 5;
const pagesOpened = 100;
const rowsScrolled = 5_000;
const restMs = 60_000;

type Line = { what: string; value: number; limit: number; unit: string };

const parts = ["cold", "lists", "slow", "use"] as const;
type Part = (typeof parts)[number];

/**
 * `npm run bench -- console [rows] [cold|lists|slow|use …]`: the console in Chromium (CHROMIUM_BIN) over a stack with
 * `rows` devices and audit rows (1,000,000 each) and a tenth as many deliveries in one organization: first paint and
 * first rows, cold, on loopback and on a slow network; the next page; a long scroll; requests at rest; memory after
 * many pages. Without named parts all of them run. Ends with status 1 when a limit is missed.
 */
export async function run([rows = "1000000", ...named]: string[], report: Report): Promise<void> {
  const unknown = named.filter((name) => !parts.includes(name as Part));
  if (unknown.length > 0) throw new Error(`no part of this bench: ${unknown.join(", ")}`);
  const isWanted = (part: Part) => named.length === 0 || named.includes(part);
  const receiver = { host: "console-bench.test", port: 1 };
  const env = {
    PASSWORD_SCRYPT_LOG_N: "12",
    // A webhook needs an address that may be called; nothing is sent to it.
    EGRESS_TEST_EXCEPTIONS: `http://${receiver.host}:${receiver.port}=127.0.0.1`,
  };
  const note = reporter();
  // First: without Chromium no cluster is started.
  const { CHROMIUM_BIN = "/usr/bin/chromium-headless-shell" } = process.env;
  const browser = await chromium.launch({
    executablePath: CHROMIUM_BIN,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-precise-memory-info"],
  });
  const running = await startStack({ adminPassword: password, env });
  note("the stack is up");
  try {
    const [gateway] = running.stack.gateways;
    if (!gateway) throw new Error("the cluster has no gateway");
    const base = `http://localhost:${new URL(gateway.url).port}`;
    const url = `http://${receiver.host}:${receiver.port}/`;
    const user = await filled(gateway.url, running.stack.databaseUrl, Number(rows), url);
    note(`${Number(rows).toLocaleString("en")} devices and audit rows are there`);
    const lines: Line[] = [];
    if (isWanted("cold")) {
      lines.push(...(await coldStarts(browser, base, user, false)));
      note("cold starts on loopback");
    }
    if (isWanted("lists")) lines.push(...(await lists(browser, base, user)));
    if (isWanted("slow")) {
      const [slowLines, atRest] = await Promise.all([
        coldStarts(browser, base, user, true),
        requestsAtRest(browser, base, user),
      ]);
      note("cold starts on a slow network, and a minute at rest");
      lines.push(...slowLines, atRest);
    }
    if (isWanted("use")) {
      lines.push(...(await inUse(browser, base, user)));
      note("a hundred pages and a long scroll");
    }
    for (const { what, value, unit, limit } of lines) report.atMost(what, value, unit, limit);
    if (lines.some(({ value, limit }) => value > limit)) process.exitCode = 1;
  } finally {
    await browser.close();
    await running.stop();
  }
}

/** Prints the progress of the bench with the seconds since its start. */
function reporter(): (what: string) => void {
  const startedMs = performance.now();
  return (what) => console.log(`${Math.round((performance.now() - startedMs) / 1_000)} s: ${what}`);
}

type User = { email: string; password: string; webhookId: string };

async function filled(url: string, databaseUrl: string, rows: number, receiver: string): Promise<User> {
  const { call } = await newAdministrator(url);
  const { partnerId, orgId } = await newOrganization(call);
  const made = await call("POST", "/webhooks", { orgId, name: "Tickets", url: receiver, events: ["device.offline"] });
  if (made.status !== 201) throw new Error(`the webhook was refused: ${JSON.stringify(made.body)}`);
  const webhookId = String(made.body.id);
  await call("PATCH", `/webhooks/${webhookId}`, { status: "paused" });
  await fillTenant(databaseUrl, rows, { partnerId, orgId, webhookId });
  const { email } = await newUser(url, call, orgId);
  return { email, password, webhookId };
}

async function signedIn(browser: Browser, base: string, user: User): Promise<{ page: Page; devtools: CDPSession }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  await page.goto(`${base}/login?next=/profile`);
  await page.getByLabel("E-mail").fill(user.email);
  await page.getByLabel("Password").fill(user.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return { page, devtools: await context.newCDPSession(page) };
}

const firstRow = "main tbody tr[data-index]";
const firstLink = "main tbody a";

/** Notes inside the page when the first row was painted: Playwright polls from outside only twice a second. */
const noteFirstRows = `
  window.firstAt = {};
  new MutationObserver(() => {
    for (const row of ${JSON.stringify([firstRow, firstLink])}) {
      if (row in window.firstAt || !document.querySelector(row)) continue;
      window.firstAt[row] = null;
      requestAnimationFrame(() => setTimeout(() => { window.firstAt[row] = performance.now(); }));
    }
  }).observe(document, { subtree: true, childList: true });`;

/** When it was painted, in milliseconds since the page was requested. */
async function firstAt(page: Page, row: string): Promise<number> {
  await page.locator(row).first().waitFor();
  const noted = await page.waitForFunction(`window.firstAt[${JSON.stringify(row)}]`);
  return Number(await noted.jsonValue());
}

/** When scripts and the API's answers were requested and there, in milliseconds since the page was. */
const partsOfStart = `
  performance.getEntriesByType("resource")
    .filter(({ name }) => name.includes("/api/") || name.endsWith(".js"))
    .map(({ name, startTime, responseEnd }) => {
      const { pathname, search } = new URL(name);
      const called = pathname.replace("/api/v1", "").replace("/assets/", "") + (search.includes("skipCount") ? " without count" : "");
      return called + " " + Math.round(startTime) + "–" + Math.round(responseEnd);
    })
    .join(", ") + ", now " + Math.round(performance.now())`;

/** First paint and first 100 devices of a page that nothing is cached for, the median of five. */
async function coldStarts(browser: Browser, base: string, user: User, isSlow: boolean): Promise<Line[]> {
  const paints: number[] = [];
  const listed: number[] = [];
  const shifts: number[] = [];
  for (let n = 0; n < coldRuns; n++) {
    const { page, devtools } = await signedIn(browser, base, user);
    await devtools.send("Network.enable");
    await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
    if (isSlow) {
      await devtools.send("Network.emulateNetworkConditions", slow);
      await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowCpu });
    }
    await page.addInitScript(noteFirstRows);
    await page.addInitScript(`
      window.shift = 0;
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shift += value;
      }).observe({ type: "layout-shift", buffered: true });`);
    await page.goto(`${base}/devices`, { waitUntil: "commit" });
    listed.push(await firstAt(page, firstRow));
    paints.push(await number(page, `performance.getEntriesByName("first-contentful-paint")[0].startTime`));
    shifts.push(await number(page, "window.shift"));
    if (n === 0) console.log(`  ${await page.evaluate(partsOfStart)}`);
    await page.context().close();
  }
  const where = isSlow ? ", slow network" : "";
  const [paintBar, listBar] = isSlow ? [1_200, 3_500] : [500, 1_200];
  return [
    atMost(`first paint${where}`, median(paints), paintBar, "ms"),
    atMost(`first rows: devices${where}`, median(listed), listBar, "ms"),
    atMost(`layout shift${where}`, Math.max(...shifts), 0.02, ""),
  ];
}

/** Time to the first rows of the other long lists, each opened afresh: the median of five. */
async function lists(browser: Browser, base: string, user: User): Promise<Line[]> {
  const { page } = await signedIn(browser, base, user);
  await page.addInitScript(noteFirstRows);
  const wanted = [
    ["audit trail", "/audit", firstRow],
    ["audit rows of an action", "/audit?action=device.update", firstRow],
    ["offline devices", "/devices?status=offline", firstRow],
    ["deliveries", `/webhooks/${user.webhookId}`, firstLink],
  ] as const;
  const lines: Line[] = [];
  for (const [what, path, row] of wanted) {
    const took: number[] = [];
    for (let n = 0; n < coldRuns; n++) {
      await page.goto(`${base}${path}`, { waitUntil: "commit" });
      took.push(await firstAt(page, row));
      if (n === 0) console.log(`  ${await page.evaluate(partsOfStart)}`);
    }
    lines.push(atMost(`first rows: ${what}`, median(took), 1_200, "ms"));
  }
  await page.context().close();
  return lines;
}

/** The requests of an idle tab in one minute. */
async function requestsAtRest(browser: Browser, base: string, user: User): Promise<Line> {
  const { page } = await signedIn(browser, base, user);
  await page.goto(`${base}/devices`);
  await page.locator(firstRow).first().waitFor();
  let requests = 0;
  page.on("request", () => {
    requests += 1;
  });
  await page.waitForTimeout(restMs);
  await page.context().close();
  return atMost("idle requests a minute", requests, 12, "");
}

/**
 * How long a click of `link` takes until the heading of its page is painted, in milliseconds: measured inside the page,
 * since Playwright polls from outside after 20, 70, 170 and 270 ms only.
 */
const openedIn = (link: string, heading: string) => `
  new Promise((resolve) => {
    const isThere = () => document.querySelector("h1")?.firstChild?.textContent === ${JSON.stringify(heading)};
    const startedAt = performance.now();
    const look = new MutationObserver(() => {
      if (!isThere()) return;
      look.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - startedAt)));
    });
    look.observe(document, { subtree: true, childList: true, characterData: true });
    [...document.querySelectorAll("nav[aria-label=Main] a")].find((a) => a.textContent === ${JSON.stringify(link)}).click();
  })`;

/** The next page, a long scroll, and memory after many pages. */
async function inUse(browser: Browser, base: string, user: User): Promise<Line[]> {
  const { page, devtools } = await signedIn(browser, base, user);
  const open = (name: string, heading: string) => number(page, openedIn(name, heading));
  const pages = [
    ["Devices", "Devices"],
    ["Audit", "Audit"],
    ["People", "People"],
    ["Keys", "API keys"],
  ] as const;
  const took: number[] = [];
  for (let n = 0; n < pagesOpened; n++) {
    const [name, heading] = pages[n % pages.length] ?? pages[0];
    const ms = await open(name, heading);
    // The first round loads the pages' files.
    if (n >= pages.length) took.push(ms);
  }
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = (await devtools.send("Runtime.getHeapUsage")) as { usedSize: number };
  await open("Devices", "Devices");
  await page.locator(firstRow).first().waitFor();
  const worstFrame = await scrolled(page);
  await page.context().close();
  return [
    atMost("next page, p95", percentiles(took)(0.95), 200, "ms"),
    atMost("longest frame of a scroll", worstFrame, 120, "ms"),
    atMost(`heap after ${pagesOpened} pages`, usedSize / 1_048_576, 120, "MB"),
  ];
}

/** Loads rows by scrolling to the end again and again, then scrolls through all of them; the longest frame. */
async function scrolled(page: Page): Promise<number> {
  const end = `const list = document.querySelector("main section[tabindex]"); list.scrollTop = list.scrollHeight;`;
  const most = Date.now() + 120_000;
  const loaded = `Math.max(...[...document.querySelectorAll("${firstRow}")].map((row) => Number(row.dataset.index)))`;
  while ((await number(page, loaded)) < rowsScrolled - 100) {
    if (Date.now() > most) throw new Error("the rows were not loaded in two minutes");
    await page.evaluate(`{ ${end} }`);
    await page.waitForTimeout(20);
  }
  return number(
    page,
    `new Promise((resolve) => {
      const list = document.querySelector("main section[tabindex]");
      list.scrollTop = 0;
      let [last, worst, frames] = [performance.now(), 0, 0];
      const step = (now) => {
        if (frames > 10) worst = Math.max(worst, now - last);
        last = now;
        frames += 1;
        list.scrollTop += 400;
        if (frames < 300) requestAnimationFrame(step);
        else resolve(worst);
      };
      requestAnimationFrame(step);
    })`,
  );
}

const number = async (page: Page, expression: string) => Number(await page.evaluate(expression));
const median = (values: readonly number[]) => percentiles(values)(0.5);

function atMost(what: string, measured: number, limit: number, unit: string): Line {
  const value = Math.round(measured * 100) / 100;
  // Printed at once, so that an interrupted run has figures, too.
  console.log(`${what}: ${value} ${unit}`.trim());
  return { what, value, limit, unit };
}
