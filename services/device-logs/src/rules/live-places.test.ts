import { describe, expect, it } from "@jest/globals";
import { livePlaces } from "./live-places.ts";

const outcome = (action: () => unknown) => {
  try {
    action();
    return "admitted";
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe("places for live queries", () => {
  it("are four per device, besides the limits of its organization and of the process", () => {
    const places = livePlaces({ perOrganization: 6, all: 8 });
    const leaves = Array.from({ length: 4 }, () => places.enter("a", "one"));
    expect(outcome(() => places.enter("a", "one"))).toBe("device_busy");
    leaves.push(places.enter("b", "one"), places.enter("b", "one"));
    expect(outcome(() => places.enter("b", "one"))).toBe("rate_limited");
    leaves.push(places.enter("c", "two"), places.enter("c", "two"));
    expect(outcome(() => places.enter("d", "three"))).toBe("overloaded");
    for (const leave of leaves) leave();
    expect(outcome(() => places.enter("a", "one"))).toBe("admitted");
  });

  it("are freed once, however often they are released", () => {
    const places = livePlaces({ perOrganization: 1, all: 2 });
    const leave = places.enter("a", "one");
    places.enter("b", "two");
    leave();
    leave();
    places.enter("a", "one");
    expect(outcome(() => places.enter("c", "three"))).toBe("overloaded");
  });
});
