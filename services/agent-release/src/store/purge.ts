import { ownedBy, type PurgePlan, walked } from "@muster/service";

/** What a deleted tenant has here. Counters of the platform's whole rollouts stay. */
export const purgePlan: PurgePlan = (_tx, tenant) => [
  ...(tenant.kind === "partner" ? [{ table: "rollout", where: ownedBy(tenant) }] : []),
  { table: "update_settings", where: ownedBy(tenant), walk: walked },
  { table: "update_request", where: ownedBy(tenant), walk: walked },
  { table: "update_attempt", where: ownedBy(tenant), walk: walked },
  { table: "rollout_part", where: ownedBy(tenant), walk: walked },
];
