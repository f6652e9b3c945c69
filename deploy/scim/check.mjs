// `npm run check:scim`: scim2-tester, which nobody here wrote, checks users and groups of a directory on a throw-away
// cluster. Ends with 1 when a check fails. Skipped where Python is missing.
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { call, password, signedIn, startCluster } from "../fuzz/cluster.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const venv = join(here, "..", "..", ".muster", "scim-venv");
const program = (name) => join(venv, "bin", name);
const inherit = { stdio: ["ignore", "inherit", "inherit"] };

const missing = prepare();
if (missing) {
  console.log(`scim: skipped, ${missing}`);
  process.exit(0);
}
const cluster = await startCluster();
let failed = true;
try {
  const SCIM_TOKEN = await tokenOfDirectory(cluster.url);
  const SCIM_URL = `${cluster.url}/api/v1/scim/v2`;
  const own = { SCIM_TOKEN, SCIM_URL, SCIM_CLI_HEADERS: `Authorization: Bearer ${SCIM_TOKEN}` };
  const env = { ...process.env, ...own, PYTHONDONTWRITEBYTECODE: "1" };
  const checked = spawnSync(program("python"), [join(here, "check.py")], { ...inherit, env, timeout: 300_000 });
  // The command line discovers schemas and resource types by itself.
  const listed = spawnSync(program("scim"), ["--url", SCIM_URL, "query", "user"], { ...inherit, env });
  failed = checked.status !== 0 || listed.status !== 0;
} finally {
  await cluster.stop();
}
process.exit(failed ? 1 : 0);

/** Makes the virtual environment; a sentence when that cannot be done here. */
function prepare() {
  const python = spawnSync("python3", ["-c", "import sys; print(sys.version_info >= (3, 10))"], { encoding: "utf8" });
  if (python.status !== 0) return "python3 is not installed";
  if (python.stdout.trim() !== "True") return "python3 is older than 3.10";
  if (existsSync(program("scim"))) return null;
  const install = ["install", "--quiet", "--disable-pip-version-check", "-r", join(here, "requirements.txt")];
  const isMade = spawnSync("python3", ["-m", "venv", venv], inherit).status === 0;
  const isReady = isMade && spawnSync(program("pip"), install, { ...inherit, timeout: 300_000 }).status === 0;
  return isReady ? null : "scim2-tester could not be installed";
}

/** The token of a new directory of a new organization, whose users get a role. */
async function tokenOfDirectory(url) {
  const admin = await signedIn(url, { email: "admin@muster.local", password });
  const slug = `scim-${randomUUID()}`;
  const partner = await call(url, "POST", "/orgs/partners", { name: "SCIM", slug }, admin);
  const wanted = { partnerId: partner.id, name: "SCIM", slug };
  const { id: orgId } = await call(url, "POST", "/orgs/organizations", wanted, admin);
  const { data: roles } = await call(url, "GET", "/roles", undefined, admin);
  const defaultRoleId = roles.find(({ key }) => key === "org-viewer").id;
  const { token } = await call(url, "POST", "/directories", { orgId, name: "scim2-tester", defaultRoleId }, admin);
  return token;
}
