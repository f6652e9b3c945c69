import type { Egress } from "@muster/egress";

/** Sends as the real one does, and reports no answer: as for a process that is killed after it sent its request. */
export function createEgressStub(real: Pick<Egress, "check" | "send">): Pick<Egress, "check" | "send"> {
  return {
    check: (url) => real.check(url),
    async send(target, request) {
      const exchange = await real.send(target, request);
      return { ...exchange, status: null, error: { code: "aborted", message: "killed" } };
    },
  };
}
