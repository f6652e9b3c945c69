import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cache } from "../cache.mjs";
import { makePostgres } from "./compose/postgres.mjs";
import { emptyFolder, must, run } from "./tools.mjs";

const sources = fileURLToPath(new URL("../compose/", import.meta.url));
const inside = fileURLToPath(new URL("compose/inside.mjs", import.meta.url));

/** The compose file is what compose-go reads it as, and its services are a cluster, twice. */
export async function checkCompose(release) {
  const { folder, files, work, say } = release;
  const archive = `muster-images-${release.release.version}.tar`;
  if (!files.includes("compose.yaml")) return "the release has no compose file";
  const loader = loaderOf();
  if (loader === null) return "no go, which builds compose-go's loader";
  emptyFolder(work);
  const { services } = JSON.parse(run(loader, [join(folder, "compose.yaml")], { env: { PATH: "/usr/bin:/bin" } }));
  say(`compose-go reads ${services.length} services: ${services.map(({ name }) => name).join(", ")}`);
  if (!files.includes(archive)) return "the release has no images";
  const { registry, images } = release.release;
  const names = new Set(services.map(({ service }) => service.image));
  for (const [name, digest] of Object.entries(images))
    must(names.has(`${registry}/${name}@${digest}`), `the compose file does not run ${name} by its digest`);
  const missing = missingHere();
  if (missing !== null) return missing;
  const layout = emptyFolder(join(work, "layout"));
  run("tar", ["-xf", join(folder, archive), "-C", layout]);
  const roots = Object.fromEntries(
    Object.entries(images).map(([name, digest]) => [
      `${registry}/${name}@${digest}`,
      rootOf(layout, digest, join(work, "roots", name)),
    ]),
  );
  const [postgres] = [...names].filter((name) => !(name in roots));
  const { root: base } = roots[`${registry}/setup@${images.setup}`];
  roots[postgres] = makePostgres(base, join(work, "roots", "postgres"));
  const plan = join(work, "plan.json");
  const { say: _, ...plain } = release;
  writeFileSync(plan, JSON.stringify({ work, services, images: roots, release: plain }));
  await sandboxed(plan, say);
}

/** The program that reads compose files, built once for each of its sources. */
function loaderOf() {
  const path = join(cache, `compose-order-${run("sha256sum", ["main.go", "go.sum"], { cwd: sources }).slice(0, 12)}`);
  if (existsSync(path)) return path;
  try {
    run("go", ["version"]);
  } catch {
    return null;
  }
  mkdirSync(dirname(path), { recursive: true });
  run("go", ["build", "-trimpath", "-mod=readonly", "-o", path, "."], {
    cwd: sources,
    env: { ...process.env, CGO_ENABLED: "0" },
  });
  return path;
}

function missingHere() {
  if (process.getuid?.() !== 0) return "containers need root";
  const tools = [
    ["runc", "--version"],
    ["ip", "-V"],
    ["unshare", "--version"],
  ];
  for (const [tool, flag] of tools) {
    try {
      run(tool, [flag]);
    } catch {
      return `no ${tool}`;
    }
  }
  return null;
}

/** The files of an image of this machine, in a folder, with what its configuration says. */
function rootOf(layout, digest, root) {
  const read = ({ digest: at }) => JSON.parse(readFileSync(join(layout, "blobs", ...at.split(":")), "utf8"));
  const arch = { x64: "amd64", arm64: "arm64" }[process.arch];
  const image = read({ digest }).manifests.find(({ platform }) => platform.architecture === arch);
  const { config, layers } = read(image);
  emptyFolder(root);
  for (const layer of layers) run("tar", ["-xzf", join(layout, "blobs", ...layer.digest.split(":")), "-C", root]);
  for (const path of ["proc", "dev", "tmp", "etc", "run/muster", "keys", "made", "data", "var/lib/muster", "etc/nats"])
    mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, "etc/hosts"), "");
  return { ...read(config).config, root };
}

/** Runs the plan in namespaces of its own, which end with it. */
async function sandboxed(plan, say) {
  const own = ["--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"];
  const child = spawn("unshare", [...own, process.execPath, inside, plan], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let problem = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (problem += chunk));
  const code = await new Promise((end) => child.once("exit", end));
  must(code === 0, `${output}${problem}`);
  for (const line of output.trim().split("\n")) say(line);
}
