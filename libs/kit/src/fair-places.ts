import { createCounts } from "./counts.ts";
import { createLanes } from "./lanes.ts";

/**
 * Who wants a place: an owner, or null for the process's own work. An owner's work that is `short` may take every free
 * place but the last one.
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
 * what the others leave: an owner whose work is slow leaves room for everybody else. No owner has every place, since
 * work that is mostly short may wait for the owner's own locks. Owners that wait take turns. The process's own work may
 * take every place and has every second turn.
 */
export function fairPlaces(max: number): FairPlaces {
  const lanes = createLanes<() => void>();
  /** By lane, and by owner whatever the lane. */
  const held = createCounts();
  const heldInAll = createCounts();
  const mostOfOwner = Math.max(1, max - 1);
  let free = max;
  let wasOwn = false;

  const laneOf = ({ owner, short }: Wanted) => (owner === null ? ownLane : short ? `${shortLane}${owner}` : owner);
  const may = (lane: string) => {
    if (free === 0 || lane === ownLane) return free > 0;
    if (heldInAll.of(ownerOf(lane)) >= mostOfOwner) return false;
    return lane.startsWith(shortLane) || held.of(lane) < free;
  };
  const occupy = (lane: string) => {
    free -= 1;
    if (lane === ownLane) return;
    held.add(lane, 1);
    heldInAll.add(ownerOf(lane), 1);
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
      if (lane !== ownLane) {
        held.add(lane, -1);
        heldInAll.add(ownerOf(lane), -1);
      }
      beginNext();
    },
    get waiting() {
      return lanes.size;
    },
  };
}

const ownerOf = (lane: string) => (lane.startsWith(shortLane) ? lane.slice(shortLane.length) : lane);
