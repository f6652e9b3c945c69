import type { ServiceImpl } from "@connectrpc/connect";
import { type Readiness, validationError } from "@muster/kit";
import type { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";

const maxCount = 1_000;

type Shown = { name: string; version: string; readiness: Readiness; sharedSettings: Readonly<Record<string, string>> };

/** Served by every port: what the process is, and calls that touch nothing else. */
export function createProbe({ name, version, readiness, sharedSettings }: Shown): ServiceImpl<typeof ProbeService> {
  return {
    echo: ({ message }) => ({ message }),
    async *echoStream({ message, count }) {
      if (count > maxCount) throw validationError({ count: [`must be at most ${maxCount}`] });
      for (let sent = 0; sent < count; sent++) yield { message };
    },
    async getInfo() {
      return { service: name, version, ready: readiness.ready, checks: await readiness.verbose(), sharedSettings };
    },
  };
}
