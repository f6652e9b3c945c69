/** What benches borrow from the audit service: parts that have no RPC, as its compiled files. */
export const auditModules = [
  "events/sealer",
  "jobs/exporter",
  "rules/entry",
  "rules/seal",
  "store/sealed-rows",
  "store/verify-chain",
] as const;

/** All exports of these modules of the audit service together. */
export async function loadAudit(...modules: (typeof auditModules)[number][]): Promise<object> {
  const load = (path: string) => import(new URL(`../../../services/audit/dist/${path}.js`, import.meta.url).href);
  return Object.assign({}, ...(await Promise.all(modules.map(load))));
}
