/** Bytes that each package of npm has at most, packed. */
export const sizeLimits = { cli: 400_000, client: 400_000, server: 15_000_000 };

const common = ({ version, source }) => ({
  version,
  license: "Apache-2.0",
  ...(source === undefined ? {} : { homepage: source, repository: { type: "git", url: `git+${source}.git` } }),
  type: "module",
  engines: { node: ">=20.19" },
});

const programs = ["muster", "muster-audit", "muster-key", "muster-release"];

/** package.json of the command line; its programs are files of one line that call the one bundled file. */
export const cliManifest = ({ scope, ...release }) => ({
  name: `${scope}/cli`,
  description: "Command line of Muster, the control plane for fleets of managed devices",
  ...common(release),
  keywords: ["muster", "devices", "fleet", "cli"],
  // npx runs the program of a package's own name.
  bin: { ...Object.fromEntries(programs.map((name) => [name, `bin/${name}.js`])), cli: "bin/muster.js" },
  exports: { "./package.json": "./package.json" },
  files: ["bin", "dist", "deploy"],
});

/** package.json of the client: what a checkout's says, without what only a checkout has. */
export function clientManifest({ scope, ...release }, own) {
  const entries = Object.entries(own.exports).map(([path, { types, default: code }]) => [
    path,
    { types, default: code },
  ]);
  return {
    name: `${scope}/client`,
    description: own.description,
    ...common(release),
    keywords: ["muster", "devices", "fleet", "api", "client"],
    sideEffects: own.sideEffects,
    exports: { ...Object.fromEntries(entries), "./package.json": "./package.json" },
    files: ["dist"],
    dependencies: own.dependencies,
  };
}

const calls = {
  muster: ["start", ""],
  "muster-audit": ["auditProgram", "process.exitCode = "],
  "muster-key": ["keyProgram", "process.exitCode = "],
  "muster-release": ["releaseProgram", "process.exitCode = "],
};

/** The files of the programs, by name. */
export function programFiles() {
  return Object.entries(calls).map(([name, [called, result]]) => {
    const args = result === "" ? "" : "process.argv.slice(2)";
    const text = `#!/usr/bin/env node\nimport { ${called} } from "../dist/cli.js";\n\n${result}await ${called}(${args});\n`;
    return [`${name}.js`, text];
  });
}

/** Declarations name compiled files: TypeScript resolves `.ts` in a package only where sources are beside them. */
export const withJsImports = (declarations) =>
  declarations
    .replace(/(\bfrom |\bimport\()(")(\.{1,2}\/[^"]+)\.ts"/g, '$1$2$3.js"')
    .replace(/\n?\/\/# sourceMappingURL=.*\n?$/, "\n");
