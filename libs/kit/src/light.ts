// The parts that load no package: the supervisor holds no more of them than it uses.

export { shrinkWhenIdle } from "./idle-memory.ts";
export { onLeftByNpm } from "./left-by-npm.ts";
export { sleep } from "./retry.ts";
export { type ServiceName, serviceNames } from "./service-names.ts";
