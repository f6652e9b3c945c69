import { shareOf } from "@muster/kit";

/** What a webhook holds, and what it may hold itself. */
export type Holder = { id: string; org: string; partner: string; host: string; n: number; atHost: number };
/** A delivery in the order in which requests are to start. */
export type Candidate = { holder: Holder; position: number };
export type SlotLimits = {
  organization: number;
  host: number;
  most: number;
  /** Requests that a partner may start; `otherRoom` for one that is not named. */
  rooms: ReadonlyMap<string, number>;
  otherRoom: number;
};

type Key = (of: Holder) => string;
const byOrg: Key = ({ org }) => org;
const byPartner: Key = ({ partner }) => partner;
const byHost: Key = ({ host }) => host;
const byHostAndPartner: Key = ({ host, partner }) => `${host} ${partner}`;
const byHostAndOrg: Key = ({ host, org }) => `${host} ${org}`;

/** The rule of store/queued.ts in TypeScript, for tests: the candidates that get a request. */
export function withinSlots(holders: readonly Holder[], candidates: readonly Candidate[], limits: SlotLimits) {
  const held = (key: Key, of: Holder, count: (each: Holder) => number) =>
    holders.filter((each) => key(each) === key(of)).reduce((sum, each) => sum + count(each), 0);
  const atHost = (key: Key, of: Holder) => held(key, of, (each) => each.atHost);
  const partnerShare = (of: Holder) => shareOf(limits.host - (atHost(byHost, of) - atHost(byHostAndPartner, of)));
  const free: [Key, (of: Holder) => number][][] = [
    [[byOrg, (of) => limits.organization - held(byOrg, of, ({ n }) => n)]],
    [
      [
        byHostAndOrg,
        (of) => {
          const own = atHost(byHostAndOrg, of);
          return shareOf(partnerShare(of) - (atHost(byHostAndPartner, of) - own)) - own;
        },
      ],
      [byPartner, (of) => limits.rooms.get(of.partner) ?? limits.otherRoom],
    ],
    [[byHostAndPartner, (of) => partnerShare(of) - atHost(byHostAndPartner, of)]],
    [[byHost, (of) => limits.host - atHost(byHost, of)]],
  ];
  let left = [...candidates].sort((a, b) => a.position - b.position);
  // Each step counts those that the steps before left.
  for (const step of free) {
    const counts = step.map(() => new Map<string, number>());
    left = left.filter(({ holder }) => {
      const isWithin = step.map(([key, slots], index) => {
        const rank = (counts[index]?.get(key(holder)) ?? 0) + 1;
        counts[index]?.set(key(holder), rank);
        return rank <= slots(holder);
      });
      return isWithin.every(Boolean);
    });
  }
  return left.slice(0, limits.most);
}
