// Takes a picture of every page of the console at a running stack, in both themes, 1440 and 390 pixels wide, into
// .muster/screenshots. With MUSTER_EXAMPLE=1 it fills the stack with an example fleet first, only for a new stack, and
// keeps it in <MUSTER_DATA_DIR>/example.json for later runs. Webhooks of the fleet post to hooks.localtest:HOOKS_PORT,
// which the stack has to know as EGRESS_TEST_EXCEPTIONS=http://hooks.localtest:3190=127.0.0.1.
//   MUSTER_EXAMPLE=1 MUSTER_PASSWORD=… npm run screenshots --workspace gateway/console
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Secret, TOTP } from "otpauth";
import { chromium } from "playwright-core";
import { makeExampleData } from "./example-data.mjs";
import { makeExamplePast } from "./example-past.mjs";
import { longThere } from "./example-regular.mjs";
import { beat } from "./example-releases.mjs";

const { MUSTER_URL = "http://localhost:3000", MUSTER_EMAIL = "admin@muster.local", MUSTER_PASSWORD } = process.env;
const {
  CHROMIUM_BIN = "/usr/bin/chromium-headless-shell",
  SCREENSHOTS,
  MUSTER_EXAMPLE,
  MUSTER_DATA_DIR = fileURLToPath(new URL("../../.muster", import.meta.url)),
  HOOKS_PORT = "3190",
  MUSTER_SMALL,
  ONLY,
} = process.env;
if (!MUSTER_PASSWORD) throw new Error("set MUSTER_PASSWORD to the password of MUSTER_EMAIL");
const folder = SCREENSHOTS ?? fileURLToPath(new URL("../../.muster/screenshots", import.meta.url));
/** MUSTER_SMALL=1: half as large, light, wide, without dialogs: for documents. */
const isSmall = MUSTER_SMALL === "1";
const widths = isSmall ? [1440] : [1440, 390];
const themes = isSmall ? ["light"] : ["light", "dark"];

const credentials = { email: MUSTER_EMAIL, password: MUSTER_PASSWORD };
const exampleFile = join(MUSTER_DATA_DIR, "example.json");

/** Takes the example's webhooks: answers at once, late, or with a failure, by the first segment of the path. */
const hooks = createServer((request, response) => {
  request.resume();
  const segment = request.url?.split("/")[1];
  const answer = () => response.writeHead(segment === "fails" ? 500 : 204).end();
  if (segment === "slow") setTimeout(answer, 1_200);
  else answer();
}).listen(Number(HOOKS_PORT), "127.0.0.1");

async function makeExample() {
  const made = await makeExampleData(MUSTER_URL, credentials, `http://hooks.localtest:${HOOKS_PORT}`);
  writeFileSync(exampleFile, JSON.stringify(made), { mode: 0o600 });
  await makeExamplePast(MUSTER_DATA_DIR, made);
  await beat(MUSTER_URL, made.agents);
  return made;
}
const example = MUSTER_EXAMPLE
  ? await makeExample()
  : existsSync(exampleFile)
    ? JSON.parse(readFileSync(exampleFile, "utf8"))
    : null;
// Machines that do not report for some minutes are offline.
const beating = setInterval(() => void (example && beat(MUSTER_URL, example.agents).catch(() => null)), 60_000);
if (example && !MUSTER_EXAMPLE) await beat(MUSTER_URL, example.agents);
const orgQuery = example ? `?orgId=${example.orgId}` : "";

/** Path, and the button whose dialog is taken, too. */
const pages = [
  ["/", "Search or run"],
  ["/welcome"],
  ["/devices"],
  ...(example ? [[`/devices/${example.deviceId}`, null, "devices-one"]] : []),
  ...(example?.jobId ? [[`/devices/bulk-jobs/${example.jobId}`, null, "devices-bulk-job"]] : []),
  [`/devices/add${orgQuery}`],
  [`/groups${orgQuery}`, "New group"],
  [`/audit${orgQuery}`],
  [`/audit/reports${orgQuery}`],
  [`/audit/alerts${orgQuery}`, "New alert"],
  [`/audit/streams${orgQuery}`, "New stream"],
  [`/audit/exports${orgQuery}`, "New export"],
  [`/audit/retention${orgQuery}`],
  [`/webhooks${orgQuery}`, "New webhook"],
  [`/webhooks/event-types${orgQuery}`, "New event type"],
  [`/keys${orgQuery}`, "New API key"],
  [`/keys/principals${orgQuery}`, "New service principal"],
  [`/keys/enrollment${orgQuery}`, "New enrollment key"],
  [`/people${orgQuery}`, "Invite"],
  [`/roles${orgQuery}`, "New role"],
  ["/orgs", "New organization"],
  ["/sites", "New site"],
  ["/partners", "New partner"],
  [`/settings/sso${orgQuery}`, "New provider"],
  [`/settings/domains${orgQuery}`],
  [`/settings/directories${orgQuery}`, "New directory"],
  [`/settings/sign-in${orgQuery}`],
  ["/settings/partner"],
  ["/settings/branding"],
  [`/settings/organization${orgQuery}`],
  ["/operations"],
  ["/releases", "Publish …"],
  ["/releases/rollouts"],
  ["/releases/templates"],
  ["/releases/new-rollout"],
  ["/profile"],
];
/** Lists of which a row is opened, too: the first one, or the first with a name. */
const opened = new Map([
  ["releases-rollouts", ""],
  ["audit", ""],
  ["webhooks", ""],
  ["people", example ? longThere : ""],
  ["roles", ""],
  ["orgs", ""],
  ["sites", ""],
  ["partners", ""],
  ["settings-sso", ""],
  ["settings-directories", ""],
]);

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: CHROMIUM_BIN,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const page = await browser.newPage({ deviceScaleFactor: isSmall ? 0.5 : 1 });
const taken = [];

async function take(name) {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme });
      const file = isSmall ? `${name}.png` : `${name}-${width}-${colorScheme}.png`;
      await page.screenshot({ path: join(folder, file) });
      taken.push(file);
    }
  }
  await page.setViewportSize({ width: widths[0], height: 900 });
}

/** Requests in flight, without the streams of changes, which last for minutes. */
const inFlight = new Set();
page.on("request", (request) => {
  if (!/\/(changes|follow)(\?|$)/.test(request.url())) inFlight.add(request);
});
for (const event of ["requestfinished", "requestfailed"]) page.on(event, (request) => inFlight.delete(request));

/** Waits until nothing was asked for half a second. */
async function quiet() {
  for (let quietMs = 0; quietMs < 500; ) {
    await page.waitForTimeout(50);
    quietMs = inFlight.size === 0 ? quietMs + 50 : 0;
  }
}

/** Opens a page and waits until it shows what it loaded. */
async function open(path) {
  await page.goto(`${MUSTER_URL}${path}`);
  await page.locator("main h1").first().waitFor();
  await quiet();
}

for (const path of ["/login", "/reset-password", "/accept-invite#token=example"]) {
  await open(path);
  if (!isSmall) await take(path.slice(1).split("#")[0]);
}
await open("/login");
await page.getByLabel("E-mail").fill(MUSTER_EMAIL);
await page.getByLabel("Password").fill(MUSTER_PASSWORD);
await page.getByRole("button", { name: "Sign in", exact: true }).click();
if (example) {
  await page
    .getByLabel(/six digits|code/i)
    .first()
    .waitFor();
  await page
    .getByLabel(/six digits|code/i)
    .first()
    .fill(new TOTP({ secret: Secret.fromBase32(example.totpSecret) }).generate());
  await page
    .getByRole("button", { name: "Continue" })
    .click()
    .catch(() => null);
}
await page.getByRole("button", { name: "Sign out" }).waitFor();
for (const [path, button, ownName] of pages) {
  const name = ownName ?? (path.split("?")[0].slice(1).replaceAll("/", "-") || "overview");
  if (ONLY && !ONLY.split(",").includes(name)) continue;
  await open(path);
  await take(name);
  if (button && !isSmall) {
    await page.getByRole("button", { name: button }).first().click();
    await page.getByRole("dialog").waitFor();
    await quiet();
    await take(`${name}-new`);
    await page.keyboard.press("Escape");
  }
  if (!opened.has(name)) continue;
  const first = page.locator("main tbody a", { hasText: opened.get(name) }).first();
  if ((await first.count()) === 0) continue;
  const before = await page.locator("main h1").first().elementHandle();
  await first.click();
  await page.waitForURL((url) => url.pathname !== path.split("?")[0]);
  // The list stays until its record has been loaded.
  await before.waitForElementState("hidden");
  await page.locator("main h1").first().waitFor();
  await quiet();
  await page
    .getByText(/^Loading/)
    .first()
    .waitFor({ state: "detached" });
  await take(`${name}-one`);
}
await browser.close();
clearInterval(beating);
hooks.close();
process.stdout.write(`${taken.length} pictures in ${folder}\n`);
