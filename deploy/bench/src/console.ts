import { randomUUID } from "node:crypto";
import { startStack } from "@muster/local";
import pg from "pg";
import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import { callAt, newAdministrator, newOrganization, password } from "./administrator.ts";
import { insertAuditRows, insertDevices } from "./console-rows.ts";

/** As a phone on a slow network: 1.6 Mbit/s, 150 ms, a quarter of this processor. */
const slow = { latency: 150, downloadThroughput: 200_000, uploadThroughput: 200_000, offline: false };
const slowCpu = 4;
const coldRuns = 5;
const pagesOpened = 100;
const rowsScrolled = 5_000;
const restMs = 60_000;

type Line = { what: string; figure: string; bar: string; held: boolean };

/**
 * `npm run bench -- console [rows]`: the console in Chromium (CHROMIUM_BIN) over a stack with so many devices and audit
 * rows (1,000,000 each) in one organization: first paint and first rows, cold, on loopback and on a slow network; the
 * next page; a long scroll; requests at rest; memory after many pages. Ends with status 1 when a bar is missed.
 */
export async function run([rows = "1000000"]: string[] = []): Promise<void> {
  const running = await startStack({ adminPassword: password, env: { PASSWORD_SCRYPT_LOG_N: "12" } });
  const { CHROMIUM_BIN = "/usr/bin/chromium" } = process.env;
  const browser = await chromium.launch({
    executablePath: CHROMIUM_BIN,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-precise-memory-info"],
  });
  try {
    const [gateway] = running.stack.gateways;
    if (!gateway) throw new Error("the cluster has no gateway");
    const base = `http://localhost:${new URL(gateway.url).port}`;
    const person = await filled(gateway.url, running.stack.databaseUrl, Number(rows));
    const lines = [
      ...(await coldStarts(browser, base, person, false)),
      ...(await coldStarts(browser, base, person, true)),
      ...(await inUse(browser, base, person)),
    ];
    console.table(lines);
    if (lines.some(({ held }) => !held)) process.exitCode = 1;
  } finally {
    await browser.close();
    await running.stop();
  }
}

type Person = { email: string; password: string };

async function filled(url: string, databaseUrl: string, rows: number): Promise<Person> {
  const { call } = await newAdministrator(url);
  const { partnerId, orgId } = await newOrganization(call);
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  try {
    await insertDevices(owner, rows, partnerId, orgId);
    await insertAuditRows(owner, rows, partnerId, orgId);
  } finally {
    await owner.end();
  }
  const { body } = await call("GET", "/roles");
  const roles = body.data as { id: string; key: string }[];
  const roleId = roles.find(({ key }) => key === "org-admin")?.id;
  const email = `bench-${randomUUID()}@example.com`;
  const invited = await call("POST", "/users", { email, name: "Bench", orgId, roleId });
  const token = new URLSearchParams(new URL(String(invited.body.inviteUrl)).hash.slice(1)).get("token");
  await callAt(url, null, "POST", "/auth/accept-invite", { token, password });
  return { email, password };
}

async function signedIn(browser: Browser, base: string, person: Person): Promise<{ page: Page; devtools: CDPSession }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  await page.goto(`${base}/login?next=/profile`);
  await page.getByLabel("E-mail").fill(person.email);
  await page.getByLabel("Password").fill(person.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return { page, devtools: await context.newCDPSession(page) };
}

const firstRow = "main tbody tr[data-index]";

/** First paint and first 100 devices of a page that nothing is cached for, the median of five. */
async function coldStarts(browser: Browser, base: string, person: Person, isSlow: boolean): Promise<Line[]> {
  const paints: number[] = [];
  const listed: number[] = [];
  const shifts: number[] = [];
  for (let n = 0; n < coldRuns; n++) {
    const { page, devtools } = await signedIn(browser, base, person);
    await devtools.send("Network.enable");
    await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
    if (isSlow) {
      await devtools.send("Network.emulateNetworkConditions", slow);
      await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowCpu });
    }
    await page.addInitScript(`
      window.shift = 0;
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shift += value;
      }).observe({ type: "layout-shift", buffered: true });`);
    await page.goto(`${base}/devices`, { waitUntil: "commit" });
    await page.locator(firstRow).first().waitFor();
    listed.push(await number(page, "performance.now()"));
    paints.push(await number(page, `performance.getEntriesByName("first-contentful-paint")[0].startTime`));
    shifts.push(await number(page, "window.shift"));
    await page.context().close();
  }
  const where = isSlow ? "slow network, CPU ÷ 4" : "loopback";
  const [paintBar, listBar] = isSlow ? [1_200, 3_500] : [500, 1_200];
  return [
    atMost(`first paint, ${where}`, median(paints), paintBar, "ms"),
    atMost(`first rows of the devices, ${where}`, median(listed), listBar, "ms"),
    atMost(`layout shift, ${where}`, Math.max(...shifts), 0.02, ""),
  ];
}

/** The next page, a long scroll, a minute at rest, and memory after many pages. */
async function inUse(browser: Browser, base: string, person: Person): Promise<Line[]> {
  const { page, devtools } = await signedIn(browser, base, person);
  const navigation = page.getByRole("navigation", { name: "Main" });
  const open = async (name: string, heading: string) => {
    const startedMs = performance.now();
    await navigation.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    return performance.now() - startedMs;
  };
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
  let requests = 0;
  page.on("request", () => {
    requests += 1;
  });
  await page.reload();
  await page.locator(firstRow).first().waitFor();
  requests = 0;
  await page.waitForTimeout(restMs);
  const atRest = requests;
  await page.context().close();
  return [
    atMost("the next page's heading, p95", percentile(took, 0.95), 200, "ms"),
    atMost(`longest frame while ${rowsScrolled.toLocaleString("en")} rows are scrolled`, worstFrame, 120, "ms"),
    atMost("requests a minute at rest", atRest, 12, ""),
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
const percentile = (values: readonly number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
const median = (values: readonly number[]) => percentile(values, 0.5);

function atMost(what: string, value: number, bar: number, unit: string): Line {
  const shown = (each: number) => `${Math.round(each * 1_000) / 1_000} ${unit}`.trim();
  return { what, figure: shown(Math.round(value * 100) / 100), bar: `≤ ${shown(bar)}`, held: value <= bar };
}
