// npm run image -- SERVICE… | --all [--registry NAME] [--tag TAG] [--base IMAGE] [--builder docker|podman|buildah]
// Builds images by deploy/Dockerfile with the first builder that works, as REGISTRY/SERVICE:TAG, and prints their
// sizes.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const services = ["gateway", ...readdirSync(join(root, "services"))];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: "boolean", default: false },
    registry: { type: "string", default: "localhost/muster" },
    tag: { type: "string", default: version },
    base: { type: "string", default: "node:24-bookworm-slim" },
    builder: { type: "string" },
    npmrc: { type: "string", default: join(homedir(), ".npmrc") },
  },
});

const fail = (message) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};
const wanted = values.all ? services : positionals;
const unknown = wanted.filter((name) => !services.includes(name));
if (wanted.length === 0 || unknown.length > 0) {
  fail(
    `usage: npm run image -- <${services.join("|")}> …  (or --all)${unknown.length > 0 ? `; unknown: ${unknown}` : ""}`,
  );
}

const works = (builder) =>
  spawnSync(builder, builder === "buildah" ? ["version"] : ["info"], { stdio: "ignore" }).status === 0;
const builder = values.builder ?? ["docker", "podman", "buildah"].find(works);
if (!builder) fail("no image builder works here: install docker, podman or buildah");

const revision = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).stdout?.trim() || "unknown";
const secret = (id, file) => (file && existsSync(file) ? ["--secret", `id=${id},src=${file}`] : []);
for (const service of wanted) {
  const name = `${values.registry}/${service}:${values.tag}`;
  const args = [
    "build",
    ...(builder === "buildah" ? ["--layers", "--isolation", "chroot"] : []),
    "-f",
    join(root, "deploy", "Dockerfile"),
    ...[`SERVICE=${service}`, `BASE_IMAGE=${values.base}`, `VERSION=${values.tag}`, `REVISION=${revision}`].flatMap(
      (each) => ["--build-arg", each],
    ),
    ...secret("npmrc", values.npmrc),
    ...secret("ca", process.env.NODE_EXTRA_CA_CERTS),
    "-t",
    name,
    root,
  ];
  const { status } = spawnSync(builder, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, DOCKER_BUILDKIT: "1" },
  });
  if (status !== 0) fail(`${name} could not be built by ${builder}`);
}
spawnSync(builder, ["images"], { stdio: "inherit" });
