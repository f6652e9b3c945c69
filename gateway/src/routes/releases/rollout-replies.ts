import type { Ring, Rollout } from "@muster/proto/muster/release/v1/rollout_pb";
import type { z } from "zod";
import { arch, os } from "../fields/agent-builds.ts";
import { timeOf } from "../fields/schemas.ts";
import { component, rolloutState as states } from "./agent-versions.ts";
import { limits, type ringIn, type ringOut, type rollout } from "./rollout-fields.ts";

export function ringMessage({ name, ...ring }: z.output<typeof ringIn>) {
  return {
    name,
    partnerIds: ring.partnerIds ?? [],
    orgIds: ring.orgIds ?? [],
    siteIds: ring.siteIds ?? [],
    groupIds: ring.groupIds ?? [],
    labels: ring.labels ?? {},
    os: ring.os ?? [],
    arch: ring.arch ?? [],
    agentVersionRange: ring.agentVersionRange ?? "",
  };
}

type Limits = { [K in keyof typeof limits]?: number | undefined };

/** The limits that the body contains. */
export function limitsIn(body: Limits): { [K in keyof typeof limits]?: number } {
  const names = Object.keys(limits) as (keyof typeof limits)[];
  return Object.fromEntries(names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])));
}

export function ringOutOf({ agentVersionRange, ...ring }: Ring): z.input<typeof ringOut> {
  return {
    name: ring.name,
    partnerIds: ring.partnerIds,
    orgIds: ring.orgIds,
    siteIds: ring.siteIds,
    groupIds: ring.groupIds,
    labels: ring.labels,
    os: ring.os.map((each) => os.parse(each)),
    arch: ring.arch.map((each) => arch.parse(each)),
    agentVersionRange: agentVersionRange || null,
  };
}

export function rolloutOf(message: Rollout | undefined): z.input<typeof rollout> {
  if (!message) throw new Error("agent-release answered without a rollout");
  return {
    id: message.id,
    versionId: message.releaseId,
    partnerId: message.partnerId || null,
    component: component.parse(message.component),
    version: message.version,
    kind: message.kind as "guard",
    state: states.parse(message.state),
    rings: message.rings.map(ringOutOf),
    openRings: message.openRings,
    percent: message.percent,
    maxInFlight: message.maxInFlight,
    haltAfterFailures: message.haltAfterFailures,
    haltPercent: message.haltPercent,
    soakSeconds: message.soakSeconds,
    waveSuccessPercent: message.waveSuccessPercent ?? null,
    inFlight: message.inFlight,
    succeeded: message.succeeded,
    failed: message.failed,
    failuresBeforeResume: message.failuresBeforeResume,
    budget: message.budget,
    reason: message.reason || null,
    haltedParts: message.haltedParts.map(({ kind, orgId, platform, succeeded, failed, reason, haltedAt }) => ({
      kind: kind as "platform",
      orgId: orgId || null,
      platform: platform || null,
      succeeded,
      failed,
      reason,
      haltedAt: timeOf(haltedAt),
    })),
    heldByPlatform: message.heldByPlatform,
    mayChange: message.mayChange,
    allowDowngrade: message.allowDowngrade,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}
