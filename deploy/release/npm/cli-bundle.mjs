import { fileURLToPath } from "node:url";

const at = (name) => fileURLToPath(new URL(name, import.meta.url));
const builtIn = {
  name: "built-in-verifier",
  resolveId: {
    filter: { id: /\/export-verifier\.ts$/ },
    handler: () => at("export-verifier.mjs"),
  },
};

/**
 * Options of rolldown for the command line in one file, without a package beside it.
 *
 * @param {"cli-entry.mjs" | "single-entry.mjs"} entry
 * @param {{ version: string, scope: string }} release that the program reports
 */
export const cliBundle = (entry, { version, scope }) => ({
  input: at(entry),
  // Comments name the bundled files from here.
  cwd: at("../../../"),
  platform: "node",
  resolve: { conditionNames: ["source", "node", "import", "default"] },
  plugins: [builtIn],
  treeshake: { moduleSideEffects: (id) => !/\/libs\/kit\//.test(id) },
  transform: { define: { MUSTER_CLI_VERSION: JSON.stringify(version), MUSTER_CLI_SCOPE: JSON.stringify(scope) } },
});
