import { ownedBy, type PurgePlan, partitionsOf, walked } from "@muster/service";

/**
 * What a tenant has here. Each table is read once from end to end: no index on organizations that each inserted row
 * would pay for, and no list of devices that could lack one. The default partition is first: rows move from it to a
 * week's, never back. Devices are last.
 */
export const purgePlan: PurgePlan = async (tx, tenant) => {
  const where = ownedBy(tenant);
  const logs = await partitionsOf(tx, "agent_log");
  const isDefault = (name: string) => name === "agent_log_default";
  const ordered = [...logs.filter(isDefault), ...logs.filter((name) => !isDefault(name))];
  return [
    ...ordered.map((table) => ({ table, where, walk: walked, family: "agent_log" })),
    ...(await partitionsOf(tx, "event_log")).map((table) => ({ table, where, walk: walked, family: "event_log" })),
    { table: "agent_log_request", where, walk: walked },
    { table: "log_limit", where, walk: walked },
    { table: "log_usage", where, walk: walked },
    { table: "device", where, walk: walked },
  ];
};
