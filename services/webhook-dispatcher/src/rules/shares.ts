import { shareOf } from "@muster/kit";

/** Whose request it is, and the host that gets it. */
export type Holder = { host: string; partner_id: string; org_id: string };

/** Key of all requests under way of a process. */
export const everyRequest = "";
export const atHost = ({ host }: Holder): string => host;
export const ofPartner = ({ partner_id: id }: Holder): string => id;
export const ofPartnerAtHost = ({ host, partner_id: id }: Holder): string => `${host} ${id}`;
export const ofOrganizationAtHost = ({ host, org_id: id }: Holder): string => `${host} ${id}`;

/** Everything that a request is counted under. */
export const keysOf = (holder: Holder): string[] => [
  everyRequest,
  atHost(holder),
  ofPartner(holder),
  ofPartnerAtHost(holder),
  ofOrganizationAtHost(holder),
];

/**
 * Whether one more request to a host may begin: a partner holds at most half of what other partners leave free there,
 * an organization half of what the partner's other organizations leave free of that.
 */
export function mayHoldAtHost(slots: number, holder: Holder, underWay: (key: string) => number): boolean {
  const all = underWay(atHost(holder));
  const partner = underWay(ofPartnerAtHost(holder));
  const organization = underWay(ofOrganizationAtHost(holder));
  const partnerSlots = shareOf(slots - (all - partner));
  return all < slots && partner < partnerSlots && organization < shareOf(partnerSlots - (partner - organization));
}

/** How many more requests a partner may begin of those a process may have open: half of what others leave free. */
export function partnerRoom(open: number, partnerId: string, underWay: (key: string) => number): number {
  const own = underWay(partnerId);
  return shareOf(open - (underWay(everyRequest) - own)) - own;
}
