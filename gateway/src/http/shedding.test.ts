import { beforeEach, describe, expect, it } from "@jest/globals";
import type { LoadClass } from "../route/route.ts";
import { createShedder, type Shedder } from "./shedding.ts";

let shedder: Shedder;
beforeEach(() => {
  shedder = createShedder({
    caps: { download: 8, export: 2, stream: 5, enrollment: 3, ingest: 4, interactive: 8 },
    organizationPercent: 25,
    anonymousPercent: 50,
    downloadsPerNetwork: 2,
    agentMax: 3,
    lagMaxMs: 200,
    random: () => 0.5,
  });
});

const outcomeOf = (action: () => void) => {
  try {
    action();
    return "admitted";
  } catch (error) {
    const { code, retryAfterSeconds } = error as { code: string; retryAfterSeconds: number };
    return `${code} ${retryAfterSeconds}`;
  }
};
const enter = (load: LoadClass) => outcomeOf(() => shedder.enter(load));
const refused = "overloaded 1";

describe("slots of one agent", () => {
  it("are limited per agent, and are freed afterwards", () => {
    const one = () => outcomeOf(() => shedder.enterAgent("a"));
    expect([one(), one(), one(), one()]).toEqual(["admitted", "admitted", "admitted", "rate_limited 1"]);
    expect(outcomeOf(() => shedder.enterAgent("b"))).toBe("admitted");
    shedder.leaveAgent("a");
    expect([one(), one()]).toEqual(["admitted", "rate_limited 1"]);
  });
});

describe("slots of a class", () => {
  it.each([
    ["export", 2],
    ["stream", 5],
    ["enrollment", 3],
    ["ingest", 4],
    ["interactive", 8],
  ] as const)("of %s are %d, and come back with the requests", (load, cap) => {
    for (let i = 0; i < cap; i++) expect(enter(load)).toBe("admitted");
    expect(enter(load)).toBe(refused);
    shedder.leave(load, null);
    expect(enter(load)).toBe("admitted");
    expect(enter(load)).toBe(refused);
  });

  it("are separate per class, and vital requests need none", () => {
    for (let i = 0; i < 8; i++) shedder.enter("interactive");
    expect([enter("interactive"), enter("ingest"), enter("export")]).toEqual([refused, "admitted", "admitted"]);
    for (let i = 0; i < 100; i++) expect(enter("vital")).toBe("admitted");
  });
});

describe("downloads", () => {
  it("from one network are limited, those of another network proceed, and refused clients get spread retry times", () => {
    const one = (network: string) =>
      outcomeOf(() => {
        shedder.enter("download");
        shedder.enterShare("download", network, "network");
      });
    expect([one("a"), one("a"), one("a"), one("b")]).toEqual(["admitted", "admitted", "overloaded 18", "admitted"]);
    for (let n = 0; n < 4; n++) shedder.enter("download");
    expect(enter("download")).toBe("overloaded 18");
    expect(enter("export")).toBe("admitted");
  });
});

describe("an organization", () => {
  const enterAs = (orgId: string, load: LoadClass = "interactive") =>
    outcomeOf(() => shedder.enterShare(load, orgId, "organization"));

  it("holds a quarter of a class at most, at least one slot, and leaves the rest to other organizations", () => {
    expect([enterAs("o1"), enterAs("o1"), enterAs("o1")]).toEqual(["admitted", "admitted", refused]);
    expect([enterAs("o2"), enterAs("o1", "ingest"), enterAs("o1", "export")]).toEqual([
      "admitted",
      "admitted",
      "admitted",
    ]);
    expect(enterAs("o1", "export")).toBe(refused);
    expect(enterAs("o1", "vital")).toBe("admitted");
  });

  it("has a share separate from that of unauthenticated requests from one network", () => {
    const enterFrom = (network: string) =>
      outcomeOf(() => {
        shedder.enter("interactive");
        shedder.enterShare("interactive", network, "network");
      });
    const anonymous = Array.from({ length: 5 }, () => enterFrom("192.0.2.1"));
    expect(anonymous).toEqual(["admitted", "admitted", "admitted", "admitted", refused]);
    expect([enterFrom("192.0.2.2"), enterAs("o1")]).toEqual(["admitted", "admitted"]);
  });

  it("leaves slots to others, however many organizations hold all they may", () => {
    const admit = (orgId: string) => {
      if (enter("interactive") !== "admitted") return "class is full";
      const outcome = enterAs(orgId);
      if (outcome !== "admitted") shedder.leave("interactive", null);
      return outcome;
    };
    const held = ["o1", "o2", "o3", "o4"].flatMap((orgId) => Array.from({ length: 10 }, () => admit(orgId)));
    expect(held.filter((outcome) => outcome === "admitted")).toHaveLength(5);
    expect([admit("o5"), admit("o6"), admit("o6")]).toEqual(["admitted", "admitted", refused]);
  });

  it("has its slots freed with its requests, share and class alike", () => {
    for (let round = 0; round < 3; round++) {
      for (const expected of ["admitted", "admitted", refused]) {
        expect(enter("interactive")).toBe("admitted");
        expect(enterAs("o1")).toBe(expected);
      }
      shedder.leave("interactive", null);
      shedder.leave("interactive", "o1");
      shedder.leave("interactive", "o1");
    }
    for (let i = 0; i < 8; i++) expect(enter("interactive")).toBe("admitted");
    expect(enter("interactive")).toBe(refused);
  });

  it("is forgotten within a second of its last request, and not before", () => {
    for (const orgId of ["o1", "o2", "o3"]) expect([enter("interactive"), enterAs(orgId)]).not.toContain(refused);
    shedder.leave("interactive", "o1");
    shedder.observeLag(0);
    expect(shedder.owners).toBe(2);
    shedder.leave("interactive", "o2");
    shedder.leave("interactive", "o3");
    shedder.observeLag(0);
    expect(shedder.owners).toBe(0);
  });
});

describe("event-loop lag", () => {
  const classes: readonly LoadClass[] = [
    "download",
    "export",
    "stream",
    "enrollment",
    "ingest",
    "interactive",
    "vital",
  ];
  const admitted = () =>
    classes.filter((load) => {
      const open = enter(load) === "admitted";
      if (open) shedder.leave(load, null);
      return open;
    });

  it("sheds one more class after each bad second, the lowest first, and restores one after each good one", () => {
    const seen = [150, 201, 300, 5_000, 5_000, 200, 0, 10, 0].map((p99Ms) => {
      shedder.observeLag(p99Ms);
      return admitted().length;
    });
    expect(seen).toEqual([7, 6, 5, 4, 3, 4, 5, 6, 7]);
    shedder.observeLag(201);
    expect(admitted()).toEqual(["export", "stream", "enrollment", "ingest", "interactive", "vital"]);
  });
});
