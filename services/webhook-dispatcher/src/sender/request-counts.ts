import { createCounts, shareOf } from "@muster/kit";
import { everyRequest, type Holder, keysOf, partnerRoom } from "../rules/shares.ts";
import type { PartnerRooms } from "../store/queued.ts";

/** Requests of one process, by the keys of rules/shares.ts. */
export type InFlight = {
  add(holder: Holder, change: 1 | -1): void;
  of(key: string): number;
  /** Requests that each partner may start, of `open` in all, for partners with fewer than `most`. */
  rooms(open: number, most: number): PartnerRooms;
};

export function countInFlight(): InFlight {
  const counts = createCounts();
  const partners = createCounts();
  const { of } = counts;
  return {
    of,
    add(holder, change) {
      for (const key of keysOf(holder)) counts.add(key, change);
      partners.add(holder.partner_id, change);
    },
    rooms(open, most) {
      const bounded = [...partners.keys()]
        .map((id) => [id, Math.max(0, partnerRoom(open, id, of))] as const)
        .filter(([, room]) => room < most);
      return { rooms: new Map(bounded), otherRoom: Math.min(most, shareOf(open - of(everyRequest))) };
    },
  };
}
