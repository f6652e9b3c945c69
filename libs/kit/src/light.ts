// The parts that load no package: the launcher holds no more of them than it uses.
export { onLeftByNpm } from "./left-by-npm.ts";
export { shrinkAtRest } from "./memory-at-rest.ts";
export { sleep } from "./retry.ts";
export { type ServiceName, serviceNames } from "./service-names.ts";
