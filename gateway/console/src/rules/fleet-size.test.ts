import { expect, it } from "@jest/globals";
import { fleetSize, fleetStatuses } from "./fleet-size.ts";

it("a fleet has the devices of every status but decommissioned", () => {
  const counts = [...fleetStatuses, "decommissioned"].map((status) => ({ status, count: 1 }));
  expect(fleetSize(counts)).toBe(fleetStatuses.length);
});
