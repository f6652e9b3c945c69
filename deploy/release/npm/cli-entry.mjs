// What the one file of the command line's package exports to its programs.
export { auditProgram } from "../../cli/src/offline/audit.ts";
export { keyProgram } from "../../cli/src/offline/key.ts";
export { releaseProgram } from "../../cli/src/offline/release.ts";
export { start } from "../../cli/src/start.ts";
