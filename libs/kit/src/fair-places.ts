import { createLanes } from "./lanes.ts";

/**
 * Who wants a place: an owner, or null for the process's own work. An owner's work that is `short` may take every free
 * place.
 */
export type Wanted = { owner: string | null; short?: boolean };

export type FairPlaces = {
  /** True when a place is taken at once; otherwise `begin` is called when one has been taken for it. */
  take(wanted: Wanted, begin: () => void): boolean;
  /** Ends the wait; false when `begin` was called before. */
  withdraw(wanted: Wanted, begin: () => void): boolean;
  leave(wanted: Wanted): void;
  readonly waiting: number;
};

const ownLane = "";
const shortLane = "short ";

/**
 * A limited number of places. An owner's place is taken only while more are free than the owner holds, which is half of
 * what the others leave: an owner whose work is slow leaves room for everybody else. Owners that wait take turns. The
 * process's own work may take every place and has every second turn.
 */
export function fairPlaces(max: number): FairPlaces {
  const lanes = createLanes<() => void>();
  const held = new Map<string, number>();
  let free = max;
  let wasOwn = false;

  const laneOf = ({ owner, short }: Wanted) => (owner === null ? ownLane : short ? `${shortLane}${owner}` : owner);
  const may = (lane: string) => free > 0 && (isUnbounded(lane) || (held.get(lane) ?? 0) < free);
  const occupy = (lane: string) => {
    free -= 1;
    if (!isUnbounded(lane)) held.set(lane, (held.get(lane) ?? 0) + 1);
  };
  /** The waiting job that may begin, with its lane; own work and owners alternate. */
  const nextJob = (): [string, () => void] | null => {
    let lane = ownLane;
    const isOwners = (other: string) => {
      lane = other;
      return other !== ownLane && may(other);
    };
    const isOwnsTurn = !wasOwn && lanes.waitingIn(ownLane) > 0;
    const ofOwner = isOwnsTurn ? undefined : lanes.next(isOwners);
    if (ofOwner !== undefined) return [lane, ofOwner];
    const own = lanes.next((other) => other === ownLane);
    return own === undefined ? null : [ownLane, own];
  };
  const beginNext = () => {
    while (free > 0 && lanes.size > 0) {
      const next = nextJob();
      if (next === null) return;
      const [lane, begin] = next;
      wasOwn = lane === ownLane;
      occupy(lane);
      begin();
    }
  };

  return {
    take(wanted, begin) {
      const lane = laneOf(wanted);
      // Whoever waits either comes first or may not begin now.
      if (may(lane) && lanes.waitingIn(lane) === 0) {
        occupy(lane);
        return true;
      }
      lanes.add(lane, begin);
      return false;
    },
    withdraw: (wanted, begin) => lanes.remove(laneOf(wanted), begin),
    leave(wanted) {
      const lane = laneOf(wanted);
      free += 1;
      if (!isUnbounded(lane)) {
        const left = (held.get(lane) ?? 0) - 1;
        if (left > 0) held.set(lane, left);
        else held.delete(lane);
      }
      beginNext();
    },
    get waiting() {
      return lanes.size;
    },
  };
}

const isUnbounded = (lane: string) => lane === ownLane || lane.startsWith(shortLane);
