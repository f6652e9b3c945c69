/**
 * As of Node 21, which has it: where it is missing, pg detects another runtime by `Response`, which loads Node's
 * fetch, 2 MB of each process.
 */
if (!("navigator" in globalThis)) {
  const userAgent = `Node.js/${process.versions.node.split(".")[0]}`;
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { userAgent } });
}
