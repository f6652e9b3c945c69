import { describe, expect, it } from "@jest/globals";
import { plainArray, sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { mayHoldAtHost } from "../rules/shares.ts";
import { countInFlight } from "../sender/request-counts.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { type Candidate, type Holder, withinSlots as ruleOf, type SlotLimits } from "../testing/slot-rule.ts";
import { partnerCapacity, slotCapacity, withinSlots } from "./queued.ts";

const { dispatcher } = ownDispatcher();
const who = { caller: systemCaller("webhook-dispatcher") };
const seed = 20_260_101;
let state = seed;
const random = (below: number) => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((state / 2_147_483_648) * below);
};
const id = (kind: number, n: number) => `0190a000-0000-7000-800${kind}-${String(n).padStart(12, "0")}`;

/** Webhooks of a few partners, organizations and hosts, with what they hold, and what is to be sent to them. */
function generated(): { holders: Holder[]; candidates: Candidate[]; limits: SlotLimits } {
  const holders = Array.from({ length: 1 + random(12) }, (_, n): Holder => {
    const org = random(5);
    const host = `h${random(3)}.example`;
    return { id: id(0, n), org: id(1, org), partner: id(2, org % 2), host, n: random(4), atHost: random(4) };
  });
  const candidates = Array.from({ length: random(40) }, (_, position) => ({
    holder: holders[random(holders.length)] as Holder,
    position,
  }));
  const rooms = new Map(random(2) ? [[id(2, 0), random(12)]] : []);
  const limits = { organization: random(16), host: random(24), most: random(30), rooms, otherRoom: random(20) };
  return { holders, candidates, limits };
}

/** The positions that the parts of the statements pick. */
async function picked({ holders, candidates, limits }: ReturnType<typeof generated>): Promise<number[]> {
  const rooms = [...limits.rooms];
  const rows = await dispatcher.database.db.read<{ position: number }>(
    who,
    sql`
    WITH limits AS (
      SELECT ${limits.organization}::int AS organization, ${limits.host}::int AS host, ${limits.most}::int AS most,
             ${limits.otherRoom}::int AS other_room
    ),
    partner_rooms AS (
      SELECT * FROM unnest(${plainArray(rooms.map(([of]) => of))}::uuid[], ${plainArray(rooms.map(([, room]) => room))}::int[])
        AS p (id, room)
    ),
    leasing AS (
      SELECT * FROM unnest(${plainArray(holders.map((of) => of.id))}::uuid[], ${plainArray(holders.map((of) => of.org))}::uuid[],
                           ${plainArray(holders.map((of) => of.partner))}::uuid[], ${holders.map((of) => of.host)}::text[],
                           ${plainArray(holders.map((of) => of.n))}::int[], ${plainArray(holders.map((of) => of.atHost))}::int[])
        AS l (id, org_id, partner_id, host, n, at_host)
    ),
    ${slotCapacity}, ${partnerCapacity},
    found AS (
      SELECT b.*, c.position
      FROM unnest(${plainArray(candidates.map(({ position }) => position))}::int[], ${plainArray(candidates.map((each) => each.holder.id))}::uuid[])
        AS c (position, id)
      JOIN bound b ON b.id = c.id
    ),
    ${withinSlots(sql`position`)}
    SELECT position FROM picked ORDER BY position`,
  );
  return rows.map(({ position }) => position);
}

describe(`the rule of free slots (seed ${seed})`, () => {
  it("is the same in SQL as in TypeScript", async () => {
    const sizes = [];
    for (let n = 0; n < 300; n++) {
      const sample = generated();
      const expected = ruleOf(sample.holders, sample.candidates, sample.limits).map(({ position }) => position);
      expect({ sample, picked: await picked(sample) }).toEqual({ sample, picked: expected });
      sizes.push(expected.length);
    }
    // The generated cases are neither all refused nor all allowed.
    expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(100);
  }, 60_000);

  it("lets a request to a host start exactly when rules/shares.ts does", async () => {
    const answers = new Set<boolean>();
    for (let n = 0; n < 150; n++) {
      const { holders, limits } = generated();
      const shares = countInFlight();
      const owner = ({ host, org, partner }: Holder) => ({ host, org_id: org, partner_id: partner });
      for (const of of holders) for (let count = 0; count < of.atHost; count++) shares.add(owner(of), 1);
      const position = (holder: Holder, index: number) => ({ holder, position: index });
      // Without any other limit than the host's, and one delivery of each webhook alone.
      for (const each of holders.map(position)) {
        const free = { organization: 1_000, host: limits.host, most: 1, rooms: new Map(), otherRoom: 1 };
        const [first] = await picked({ holders, candidates: [each], limits: free });
        const mayStart = mayHoldAtHost(limits.host, owner(each.holder), shares.of);
        expect({ holders, limits, each, mayStart: first !== undefined }).toEqual({ holders, limits, each, mayStart });
        answers.add(mayStart);
      }
    }
    expect(answers).toEqual(new Set([true, false]));
  }, 60_000);

  it("gives no host, organization or partner more than its limit", async () => {
    for (let n = 0; n < 100; n++) {
      const sample = generated();
      const taken = new Set(await picked(sample));
      const started = sample.candidates.filter(({ position }) => taken.has(position)).map(({ holder }) => holder);
      for (const of of sample.holders) {
        const count = (key: "host" | "org" | "partner", list: readonly Holder[]) =>
          list.filter((each) => each[key] === of[key]);
        const at = (list: readonly Holder[]) => list.reduce((sum, each) => sum + each.atHost, 0);
        const own = (list: readonly Holder[]) => list.reduce((sum, each) => sum + each.n, 0);
        const { host, organization, rooms, otherRoom } = sample.limits;
        const free = {
          host: host - at(count("host", sample.holders)),
          org: organization - own(count("org", sample.holders)),
          partner: rooms.get(of.partner) ?? otherRoom,
        };
        for (const key of ["host", "org", "partner"] as const)
          expect(count(key, started).length).toBeLessThanOrEqual(Math.max(0, free[key]));
      }
    }
  }, 60_000);
});
