import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bareEnv, emptyFolder, must, npmTools, run } from "./tools.mjs";

/** A program of a user of the client, under strict TypeScript. */
const program = (scope) => `import { createMusterClient, linesOf, type paths, verifyWebhook } from "${scope}/client";
import { access } from "${scope}/client/access";

const muster = createMusterClient({ baseUrl: "http://muster.invalid", apiKey: "svc_x" });
const { data, error } = await muster.GET("/api/v1/devices", { params: { query: { limit: "10" } } });
const name: string | undefined = data?.data[0]?.hostname;
// @ts-expect-error: there is no such path.
await muster.GET("/api/v1/devicez");
export type All = paths;
console.log(name, error?.code, typeof linesOf, typeof verifyWebhook, typeof access);
`;

/** The packages install into an empty folder, work there, and are as npm and TypeScript want them. */
export function checkPackages({ folder, files, release, work, say }) {
  const tarballs = files.filter((name) => name.endsWith(".tgz") && name.startsWith(`${release.scope.slice(1)}-`));
  if (tarballs.length === 0) return "the release has no packages";
  const tools = npmTools();
  const tool = (name, ...args) => run(join(tools, "node_modules/.bin", name), args);
  for (const name of tarballs) {
    tool("publint", join(folder, name), "--strict");
    if (!name.includes("-server-")) tool("attw", join(folder, name), "--profile", "esm-only");
  }
  say(`publint and attw: ${tarballs.length} packages are clean`);
  const home = emptyFolder(join(work, "home"));
  const env = bareEnv(home);
  writeFileSync(join(home, "package.json"), '{"private":true,"type":"module"}');
  const [cli, client] = ["cli", "client"].map((name) =>
    join(
      folder,
      tarballs.find((file) => file.includes(`-${name}-`)),
    ),
  );
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", cli, client], { cwd: home, env });
  must(
    run("npx", ["--offline", "muster", "--version"], { cwd: home, env }).trim() === release.version,
    "muster has another version",
  );
  must(
    /devices/.test(run("npx", ["--offline", "muster", "get", "--help"], { cwd: home, env })),
    "muster lists its resources",
  );
  run("npx", ["--offline", "muster", "cluster", "keys", "keys"], { cwd: home, env });
  must(existsSync(join(home, "keys/secrets.json")), "muster makes no keys of a cluster");
  writeFileSync(join(home, "try.ts"), program(release.scope));
  const types = ["--types", "node", "--typeRoots", join(tools, "node_modules/@types")];
  const strict = ["--strict", "--module", "nodenext", "--target", "es2023", "--skipLibCheck", "false", ...types];
  run(join(tools, "node_modules/.bin/tsc"), [...strict, "try.ts"], { cwd: home });
  const ran = run(process.execPath, ["try.js"], { cwd: home, env });
  must(/network_error function function object/.test(ran), `the client's program printed ${ran}`);
  say("installed into an empty folder; a program of the client compiles strictly and runs");
}
