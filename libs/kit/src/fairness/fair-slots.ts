import { createCounts } from "./counts.ts";
import { createRoundRobin } from "./round-robin.ts";

/**
 * Who wants a slot: an owner, or null for the process's own work. An owner's work that is `short` may take every free
 * slot but the last one.
 */
export type Wanted = { owner: string | null; short?: boolean };

export type FairSlots = {
  /** True when a slot is taken at once; otherwise `begin` is called when one has been taken for it. */
  take(wanted: Wanted, begin: () => void): boolean;
  /** Ends the wait; false when `begin` was called before. */
  withdraw(wanted: Wanted, begin: () => void): boolean;
  leave(wanted: Wanted): void;
  readonly waiting: number;
};

const ownQueue = "";
const shortPrefix = "short ";

/**
 * A limited number of slots, each owner with its fair share: a slot is taken only while more are free than the owner
 * holds (docs/concepts.md#fair-share), so that an owner with slow work leaves room for everybody else. No owner has
 * every slot, since work that is mostly short may wait for the owner's own locks. Waiting owners are served
 * round-robin. The process's own work may take every slot and alternates with owners.
 */
export function fairSlots(max: number): FairSlots {
  const queues = createRoundRobin<() => void>();
  /** By queue, and by owner over both of its queues. */
  const held = createCounts();
  const heldInAll = createCounts();
  const mostOfOwner = Math.max(1, max - 1);
  let free = max;
  let wasOwn = false;

  const queueOf = ({ owner, short }: Wanted) => (owner === null ? ownQueue : short ? `${shortPrefix}${owner}` : owner);
  const may = (queue: string) => {
    if (free === 0 || queue === ownQueue) return free > 0;
    if (heldInAll.of(ownerOf(queue)) >= mostOfOwner) return false;
    return queue.startsWith(shortPrefix) || held.of(queue) < free;
  };
  const occupy = (queue: string) => {
    free -= 1;
    if (queue === ownQueue) return;
    held.add(queue, 1);
    heldInAll.add(ownerOf(queue), 1);
  };
  /** The waiting job that may begin, with its queue; own work and owners alternate. */
  const nextJob = (): [string, () => void] | null => {
    let queue = ownQueue;
    const isOwners = (other: string) => {
      queue = other;
      return other !== ownQueue && may(other);
    };
    const isOwnNext = !wasOwn && queues.lengthOf(ownQueue) > 0;
    const ofOwner = isOwnNext ? undefined : queues.next(isOwners);
    if (ofOwner !== undefined) return [queue, ofOwner];
    const own = queues.next((other) => other === ownQueue);
    return own === undefined ? null : [ownQueue, own];
  };
  const beginNext = () => {
    while (free > 0 && queues.size > 0) {
      const next = nextJob();
      if (next === null) return;
      const [queue, begin] = next;
      wasOwn = queue === ownQueue;
      occupy(queue);
      begin();
    }
  };

  return {
    take(wanted, begin) {
      const queue = queueOf(wanted);
      // Waiting jobs of this queue come first, or may not begin now.
      if (may(queue) && queues.lengthOf(queue) === 0) {
        occupy(queue);
        return true;
      }
      queues.add(queue, begin);
      return false;
    },
    withdraw: (wanted, begin) => queues.remove(queueOf(wanted), begin),
    leave(wanted) {
      const queue = queueOf(wanted);
      free += 1;
      if (queue !== ownQueue) {
        held.add(queue, -1);
        heldInAll.add(ownerOf(queue), -1);
      }
      beginNext();
    },
    get waiting() {
      return queues.size;
    },
  };
}

const ownerOf = (queue: string) => (queue.startsWith(shortPrefix) ? queue.slice(shortPrefix.length) : queue);
