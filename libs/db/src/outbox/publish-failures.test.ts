import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { createPublishFailures } from "./publish-failures.ts";

const away = new AppError("unavailable", "no answer");
const refused = new AppError("permission_denied", "refused");
const row = (id: number, subject: string) => ({ id, subject });

function failuresAt(clock: { ms: number }) {
  return createPublishFailures(500, () => clock.ms);
}

describe("failed publishes", () => {
  it("pause a root that cannot be published, for longer each time, and dead-letter nothing however long that lasts", () => {
    const clock = { ms: 0 };
    const failures = failuresAt(clock);
    for (let round = 0; round < 50; round++) {
      const { bury } = failures.settle([], [{ row: row(1, "events.o.t"), error: away }]);
      expect(bury).toEqual([]);
      expect(failures.pausedRoots()).toEqual(["events"]);
      clock.ms += 5_001;
      expect(failures.pausedRoots()).toEqual([]);
    }
  });

  it("leave other roots alone, and end the pause on a new connection", () => {
    const failures = failuresAt({ ms: 0 });
    const { pausing } = failures.settle([row(2, "audit.tenancy.1")], [{ row: row(1, "events.o.t"), error: away }]);
    expect(pausing).toEqual([{ root: "events", error: away }]);
    expect(failures.pausedRoots()).toEqual(["events"]);
    failures.resume();
    expect(failures.pausedRoots()).toEqual([]);
  });

  it("bury a refused message at the fifth attempt, with pauses between", () => {
    const clock = { ms: 0 };
    const failures = failuresAt(clock);
    for (let attempt = 1; attempt <= 5; attempt++) {
      expect(failures.mayTry(1)).toBe(true);
      const { bury, pausing } = failures.settle([], [{ row: row(1, "audit.x.1"), error: refused }]);
      expect(pausing).toEqual([]);
      expect(bury.map((b) => b.attempts)).toEqual(attempt === 5 ? [5] : []);
      expect(failures.mayTry(1)).toBe(false);
      clock.ms += 5_001;
    }
  });

  it("count against a message that fails while its neighbours get through", () => {
    const clock = { ms: 0 };
    const failures = failuresAt(clock);
    const round = () => {
      clock.ms += 5_001;
      return failures.settle([row(2, "audit.a.1")], [{ row: row(1, "audit.a.2"), error: away }]);
    };
    for (let attempt = 1; attempt < 5; attempt++) expect(round().bury).toEqual([]);
    expect(round().bury).toEqual([{ row: row(1, "audit.a.2"), error: away, attempts: 5 }]);
  });
});
