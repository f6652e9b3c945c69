// Takes a picture of every page of the console at a running stack, in both themes, 1280 and 390 pixels wide, into
// .muster/screenshots.
//   MUSTER_EMAIL=admin@muster.local MUSTER_PASSWORD=… npm run screenshots --workspace gateway/console
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const { MUSTER_URL = "http://localhost:3000", MUSTER_EMAIL = "admin@muster.local", MUSTER_PASSWORD } = process.env;
const { CHROMIUM_BIN = "/usr/bin/chromium", SCREENSHOTS } = process.env;
if (!MUSTER_PASSWORD) throw new Error("set MUSTER_PASSWORD to the password of MUSTER_EMAIL");
const folder = SCREENSHOTS ?? fileURLToPath(new URL("../../.muster/screenshots", import.meta.url));
const widths = [1280, 390];
const themes = ["light", "dark"];
const pages = [
  "/",
  "/welcome",
  "/devices",
  "/audit",
  "/webhooks",
  "/keys",
  "/keys/enrollment",
  "/people",
  "/orgs",
  "/profile",
];
/** Lists whose first row is opened, too. */
const opened = ["/devices", "/audit", "/webhooks"];

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: CHROMIUM_BIN,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const page = await browser.newPage();
const taken = [];

async function take(name) {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme });
      const file = `${name}-${width}-${colorScheme}.png`;
      await page.screenshot({ path: join(folder, file) });
      taken.push(file);
    }
  }
  await page.setViewportSize({ width: widths[0], height: 800 });
}

/** Opens a page and waits until it shows what it loaded. */
async function open(path) {
  await page.goto(`${MUSTER_URL}${path}`);
  await page.locator("main h1").first().waitFor();
  await page.waitForLoadState("networkidle");
}

for (const path of ["/login", "/reset-password", "/accept-invite#token=example"]) {
  await open(path);
  await take(path.slice(1).split("#")[0]);
}
await open("/login");
await page.getByLabel("E-mail").fill(MUSTER_EMAIL);
await page.getByLabel("Password").fill(MUSTER_PASSWORD);
await page.getByRole("button", { name: "Sign in", exact: true }).click();
await page.getByRole("button", { name: "Sign out" }).waitFor();
for (const path of pages) {
  await open(path);
  await take(path === "/" ? "overview" : path.slice(1).replaceAll("/", "-"));
  if (!opened.includes(path)) continue;
  const first = page.locator("main tbody a").first();
  if ((await first.count()) === 0) continue;
  await first.click();
  await page.waitForLoadState("networkidle");
  await take(`${path.slice(1)}-one`);
}
await browser.close();
process.stdout.write(`${taken.length} pictures in ${folder}\n`);
