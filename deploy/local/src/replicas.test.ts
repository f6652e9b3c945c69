import { describe, expect, it } from "@jest/globals";
import { Problem } from "./problem.ts";
import { parseReplicas, programNames, replicaNames } from "./replicas.ts";

describe("MUSTER_REPLICAS", () => {
  it("runs everything once when nothing is asked for", () => {
    expect(Object.values(parseReplicas(""))).toEqual(programNames.map(() => 1));
  });

  it("takes counts by name, with spaces and an empty item", () => {
    const replicas = parseReplicas(" gateway = 2, webhook-dispatcher=3,");
    expect(replicas).toMatchObject({ gateway: 2, "webhook-dispatcher": 3, audit: 1 });
  });

  it.each(["gatewy=2", "gateway", "gateway=0", "gateway=17", "gateway=-1", "gateway=1.5", "=2"])(
    "refuses %s by name",
    (item) => {
      expect(() => parseReplicas(item)).toThrow(Problem);
      expect(() => parseReplicas(item)).toThrow(`"${item}"`);
    },
  );

  it("numbers replicas from the second on", () => {
    expect(replicaNames("audit", 3)).toEqual(["audit", "audit-2", "audit-3"]);
  });
});
