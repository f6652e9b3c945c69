import { describe, expect, it } from "@jest/globals";
import {
  atHost,
  everyRequest,
  mayHoldAtHost,
  ofOrganizationAtHost,
  ofPartner,
  ofPartnerAtHost,
  partnerRoom,
} from "./shares.ts";

const holder = { host: "one.example", partner_id: "p", org_id: "o" };

/** Requests in flight: over all, of the partner, of the organization. */
const counted = (all: number, partner: number, organization: number) => {
  const counts = new Map([
    [everyRequest, all],
    [atHost(holder), all],
    [ofPartner(holder), partner],
    [ofPartnerAtHost(holder), partner],
    [ofOrganizationAtHost(holder), organization],
  ]);
  return (key: string) => counts.get(key) ?? 0;
};

describe("a host with 256 slots", () => {
  it.each<[string, [number, number, number], boolean]>([
    ["gets 64 requests of an organization alone", [63, 63, 63], true],
    ["gets no 65th request of an organization alone", [64, 64, 64], false],
    ["gets requests of another organization of the same partner", [64, 64, 0], true],
    ["gets half of the rest of the partner's share for that one", [96, 96, 32], false],
    ["gets 128 requests of a partner with however many organizations", [128, 128, 0], false],
    ["gets requests of another partner beside it", [128, 0, 0], true],
    ["gets half of the partner's share for its organization", [160, 32, 32], false],
    ["gets one request beside 255 of others", [255, 0, 0], true],
    ["gets no 257th request", [256, 0, 0], false],
  ])("%s", (_what, held, expected) => {
    expect(mayHoldAtHost(256, holder, counted(...held))).toBe(expected);
  });

  it("with one slot alone gets one request", () => {
    expect(mayHoldAtHost(1, holder, counted(0, 0, 0))).toBe(true);
  });
});

describe("1,024 open requests of a process", () => {
  it.each([
    ["all free: half", 0, 0, 512],
    ["its half in flight: none", 512, 512, 0],
    ["another's half in flight: half of the rest", 512, 0, 256],
    ["more in flight than its share: none", 900, 600, -238],
  ])("%s", (_what, all, own, room) => {
    expect(partnerRoom(1_024, holder.partner_id, counted(all, own, 0))).toBe(room);
  });
});
