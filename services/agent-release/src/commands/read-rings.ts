import { type FieldErrors, isUuid, validationError } from "@muster/kit";
import type { Ring as RingMessage } from "@muster/proto/muster/release/v1/rollout_pb";
import type { CountDevices } from "../clients/tenancy.ts";
import { architectures, systems } from "../rules/component.ts";
import { isInRange, isRange, type Ring, rangeMax } from "../rules/ring.ts";

export const ringsMax = 20;
const ringIdsMax = 1_000;
const labelsMax = 32;

/** Rings as they are stored: ids in lower case, only the criteria that are given. Adds an error for each bad one. */
export function readRings(rings: readonly Omit<RingMessage, "$typeName">[], errors: FieldErrors): Ring[] {
  if (rings.length > ringsMax) errors.rings = [`At most ${ringsMax}`];
  return rings.map((ring, at) => {
    const problem = problemOf(ring);
    if (problem !== null) errors[`rings.${at}${problem.field}`] = [problem.text];
    return ringOf(ring);
  });
}

function problemOf(ring: Omit<RingMessage, "$typeName">): { field: string; text: string } | null {
  const { labels, os, arch, agentVersionRange: range } = ring;
  const ids = [...ring.partnerIds, ...ring.orgIds, ...ring.siteIds, ...ring.groupIds];
  const names = Object.keys(labels);
  const isEmpty = ids.length + names.length + os.length + arch.length === 0 && range === "";
  if (isEmpty) return { field: "", text: "Must name owners, labels, systems, architectures or a range of versions" };
  if (ids.length > ringIdsMax || !ids.every(isUuid))
    return { field: "", text: `At most ${ringIdsMax} ids, each a UUID` };
  if (names.length > labelsMax) return { field: ".labels", text: `At most ${labelsMax}` };
  if (!os.every((each) => systems.some((of) => of === each))) return { field: ".os", text: systems.join(", ") };
  if (!arch.every((each) => architectures.some((of) => of === each))) {
    return { field: ".arch", text: architectures.join(", ") };
  }
  if (range === "" || isRange(range)) return null;
  return {
    field: ".agentVersionRange",
    text: `Must be a range of versions, such as >=1.2.0 <2, of at most ${rangeMax} characters`,
  };
}

function ringOf({ name, partnerIds, orgIds, siteIds, groupIds, ...ring }: Omit<RingMessage, "$typeName">): Ring {
  const lower = (ids: readonly string[]) => ids.map((each) => each.toLowerCase());
  const { labels, os, arch, agentVersionRange } = ring;
  return {
    name,
    partnerIds: lower(partnerIds),
    orgIds: lower(orgIds),
    siteIds: lower(siteIds),
    groupIds: lower(groupIds),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(os.length > 0 ? { os } : {}),
    ...(arch.length > 0 ? { arch } : {}),
    ...(agentVersionRange === "" ? {} : { agentVersionRange }),
  };
}

/** Devices of a ring, and those of them that no ring before it includes. */
export type RingCount = { devices: number; own: number };

/**
 * Counts devices of rings, all or one partner's, to which others' ids are unknown. Throws `validation_failed` for ids
 * that name nothing, and with `needed` for empty rings.
 */
export async function countRings(
  rings: readonly Ring[],
  countDevices: CountDevices,
  { needed, partnerId }: { needed: boolean; partnerId: string | null },
): Promise<RingCount[]> {
  if (rings.length === 0) return [];
  const { groups, unknownIds } = await countDevices(rings, partnerId);
  const counts = rings.map(() => ({ devices: 0, own: 0 }));
  for (const { agentVersion, audiences, devices } of groups) {
    const inRange = audiences.filter((at) => isInRange(agentVersion, rings[at]?.agentVersionRange ?? ""));
    for (const [order, at] of inRange.entries()) {
      const count = counts[at];
      if (count)
        Object.assign(count, { devices: count.devices + devices, own: count.own + (order === 0 ? devices : 0) });
    }
  }
  const errors: FieldErrors = {};
  for (const [at, ring] of rings.entries()) {
    for (const field of ["partnerIds", "orgIds", "siteIds", "groupIds"] as const) {
      const unknown = ring[field].filter((id) => unknownIds.includes(id));
      if (unknown.length > 0) errors[`rings.${at}.${field}`] = [`Unknown: ${unknown.slice(0, 3).join(", ")}`];
    }
    if (needed && counts[at]?.devices === 0 && unknownIds.length === 0) errors[`rings.${at}`] = ["Matches no device"];
  }
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return counts;
}
