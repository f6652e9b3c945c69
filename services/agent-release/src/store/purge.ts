import { ownedBy, type PurgePlan, walked } from "@muster/service";

/** What a deleted tenant has here. Counters of whole rollouts stay: they are of the platform. */
export const purgePlan: PurgePlan = (_tx, tenant) => [
  { table: "update_settings", where: ownedBy(tenant), walk: walked },
  { table: "update_request", where: ownedBy(tenant), walk: walked },
  { table: "update_attempt", where: ownedBy(tenant), walk: walked },
  { table: "rollout_part", where: ownedBy(tenant), walk: walked },
];
