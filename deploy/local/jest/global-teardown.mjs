/** Stops and removes the cluster that globalSetup started; one that was given stays. */
export default async function globalTeardown() {
  await globalThis.musterTestCluster?.stop();
}
