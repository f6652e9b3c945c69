import { networkInterfaces } from "node:os";
import {
  type Egress,
  type Exceptions,
  openEgress,
  parseClosedRanges,
  parseSinkRanges,
  type SinkType,
  sinkAddressCheck,
} from "@muster/egress";

export type SinkEgresses = { of(type: SinkType): Egress; close(): Promise<void> };

/**
 * The ways out to sinks of audit streams, one for each type: to the public internet and to what the operator has opened
 * for that type. Throws on settings that open anything else.
 */
export function openSinkEgresses(
  settings: { AUDIT_SINK_ALLOWED_CIDRS: string; AUDIT_SINK_CLUSTER_CIDRS: string },
  exceptions: Exceptions,
): SinkEgresses {
  const allowed = parseSinkRanges(settings.AUDIT_SINK_ALLOWED_CIDRS);
  const closed = parseClosedRanges([settings.AUDIT_SINK_CLUSTER_CIDRS, ...ownAddresses()].join(","));
  const open = (type: SinkType) =>
    openEgress({ profile: "webhook", exceptions, isPermitted: sinkAddressCheck(type, allowed, closed) });
  const egresses: Record<SinkType, Egress> = { https: open("https"), s3: open("s3"), syslog: open("syslog") };
  return {
    of: (type) => egresses[type],
    async close() {
      await Promise.all(Object.values(egresses).map((egress) => egress.close()));
    },
  };
}

/** Addresses of this machine, each as a range of one. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address, family }) => `${address.split("%")[0]}/${family === "IPv4" ? 32 : 128}`);
}
