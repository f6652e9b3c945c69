import { describe, expect, it } from "@jest/globals";
import { liveSlots } from "./live-slots.ts";

const outcome = (action: () => unknown) => {
  try {
    action();
    return "admitted";
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe("slots for live queries", () => {
  it("are four per device, besides the limits of its organization and of the process", () => {
    const slots = liveSlots({ perOrganization: 6, all: 8 });
    const releases = Array.from({ length: 4 }, () => slots.enter("a", "one"));
    expect(outcome(() => slots.enter("a", "one"))).toBe("device_busy");
    releases.push(slots.enter("b", "one"), slots.enter("b", "one"));
    expect(outcome(() => slots.enter("b", "one"))).toBe("rate_limited");
    releases.push(slots.enter("c", "two"), slots.enter("c", "two"));
    expect(outcome(() => slots.enter("d", "three"))).toBe("overloaded");
    for (const release of releases) release();
    expect(outcome(() => slots.enter("a", "one"))).toBe("admitted");
  });

  it("are freed once, however often they are released", () => {
    const slots = liveSlots({ perOrganization: 1, all: 2 });
    const release = slots.enter("a", "one");
    slots.enter("b", "two");
    release();
    release();
    slots.enter("a", "one");
    expect(outcome(() => slots.enter("c", "three"))).toBe("overloaded");
  });
});
