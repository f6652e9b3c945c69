import { shareOf } from "@muster/kit";

/** The owner of a request, and its host. */
export type Holder = { host: string; partner_id: string; org_id: string };

/** Key of all requests of a process in flight. */
export const everyRequest = "";
export const atHost = ({ host }: Holder): string => host;
export const ofPartner = ({ partner_id: id }: Holder): string => id;
export const ofPartnerAtHost = ({ host, partner_id: id }: Holder): string => `${host} ${id}`;
export const ofOrganizationAtHost = ({ host, org_id: id }: Holder): string => `${host} ${id}`;

/** The keys under which a request is counted. */
export const keysOf = (holder: Holder): string[] => [
  everyRequest,
  atHost(holder),
  ofPartner(holder),
  ofPartnerAtHost(holder),
  ofOrganizationAtHost(holder),
];

/**
 * Whether one more request to a host may start: a partner gets its fair share of the host's slots, an organization a
 * fair share of its partner's (docs/concepts.md#fair-share).
 */
export function mayHoldAtHost(slots: number, holder: Holder, inFlight: (key: string) => number): boolean {
  const all = inFlight(atHost(holder));
  const partner = inFlight(ofPartnerAtHost(holder));
  const organization = inFlight(ofOrganizationAtHost(holder));
  const partnerSlots = shareOf(slots - (all - partner));
  return all < slots && partner < partnerSlots && organization < shareOf(partnerSlots - (partner - organization));
}

/** How many more requests a partner may start: its fair share of the `open` requests of a process, less its own. */
export function partnerRoom(open: number, partnerId: string, inFlight: (key: string) => number): number {
  const own = inFlight(partnerId);
  return shareOf(open - (inFlight(everyRequest) - own)) - own;
}
