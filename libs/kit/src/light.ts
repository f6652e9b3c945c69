// The parts that load no package: the supervisor holds no more of them than it uses.

export { codeOf, messageOf } from "./errors/caught.ts";
export { shrinkWhenIdle } from "./lifecycle/idle-memory.ts";
export { onLeftByNpm } from "./lifecycle/left-by-npm.ts";
export { type ServiceName, serviceNames } from "./settings/service-names.ts";
export { sleep } from "./timing/retry.ts";
