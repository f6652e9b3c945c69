export { freePort } from "./ports.ts";
export { rotateClusterCertificates } from "./rotate-certificates.ts";
export type { StackFile } from "./stack-file.ts";
export { type RunningStack, type StartOptions, startStack } from "./start-stack.ts";
