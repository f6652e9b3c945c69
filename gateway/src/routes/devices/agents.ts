import { AppError } from "@muster/kit";
import type { Offer } from "@muster/proto/muster/release/v1/update_pb";
import { z } from "zod";
import type { UpdateReport } from "../../clients/update-answers.ts";
import { type Route, route } from "../../route/route.ts";
import { arch, downloadPath, libc, os, updateReport } from "../fields/agent-builds.ts";
import { addressIn, id, idOut, idParams, nameIn, timeOut } from "../fields/schemas.ts";
import { component } from "../releases/agent-versions.ts";

const tag = "Agents";
const versionIn = z.string().min(1).max(50);
const optionalVersion = z.string().max(50).nullish();
const optionalText = z.string().max(255).nullish();

const libcIs = "C library of a Linux machine, for which its programs are built; absent: gnu.";

const labels = z
  .record(z.string().min(1).max(63), z.string().max(255))
  .refine((all) => Object.keys(all).length <= 32, "At most 32 labels");

const enrollment = z.object({
  enrollmentKey: z.string().max(200),
  hostname: nameIn,
  os,
  arch,
  libc: libc.nullish().meta({ description: libcIs }),
  agentVersion: versionIn,
  watchdogVersion: optionalVersion,
  hardwareId: optionalText.meta({
    description:
      "Identifies the machine. A repeated enrollment whose reply was lost finds its device by it, and a second active " +
      "machine that names it is quarantined.",
  }),
  serialNumber: optionalText,
  labels: labels.nullish(),
});

const interval = z
  .int()
  .meta({ description: "Seconds to the next heartbeat; after three missed ones a device is offline." });
const token = z.string().meta({ description: "Shown once: the agent's bearer token." });

const enroll = route({
  method: "POST",
  path: "/agents/enroll",
  access: { auth: "none" },
  tag,
  summary: "Enroll an agent with an enrollment key",
  description:
    "Creates a device in the key's organization and site. `agentId` is the `deviceId`. The same machine may repeat a request whose reply " +
    "it did not receive: the repeat does not count as a second use of the key until a token of the device was used.",
  body: enrollment,
  example: { enrollmentKey: "0f".repeat(32), hostname: "web-01", os: "linux", arch: "amd64", agentVersion: "1.0.0" },
  gzip: true,
  load: "enrollment",
  noStore: true,
  status: 201,
  reply: z.object({
    agentId: idOut,
    deviceId: idOut,
    orgId: idOut,
    siteId: idOut.nullable(),
    status: z.enum(["offline", "online", "updating", "quarantined"]).meta({
      description:
        "Quarantined: its hardware id is another active device's; only heartbeats are accepted until it is approved.",
    }),
    token,
    heartbeatIntervalSeconds: interval,
  }),
  errors: [
    "enrollment_key_invalid",
    "enrollment_key_expired",
    "enrollment_key_exhausted",
    "partner_inactive",
    "organization_inactive",
    "limit_reached",
    "rate_limited",
  ],
  async handle({ body, rpc }, { services }) {
    const { libc, watchdogVersion, hardwareId, serialNumber, labels: named, ...rest } = body;
    const wanted = {
      ...rest,
      libc: libc ?? "",
      watchdogVersion: watchdogVersion ?? "",
      hardwareId: hardwareId ?? "",
      serialNumber: serialNumber ?? "",
      labels: named ?? {},
    };
    const { deviceId, siteId, status, ...reply } = await services.agents.enroll(wanted, await rpc());
    return {
      agentId: deviceId,
      deviceId,
      orgId: reply.orgId,
      siteId: siteId || null,
      status: status as "offline",
      token: reply.token,
      heartbeatIntervalSeconds: reply.heartbeatIntervalSeconds,
    };
  },
});

const metrics = z
  .record(z.string().regex(/^[A-Za-z0-9_.:/-]{1,64}$/, "Letters, digits and _ . : / -, at most 64"), z.number())
  .refine((all) => Object.keys(all).length <= 50, "At most 50 metrics");

const offered = z
  .object({
    attemptId: idOut,
    component,
    version: z.string(),
    url: z.string(),
    size: z.int(),
    sha256: z.string(),
    manifest: z.string().nullable().meta({ description: "C2SP signed note; null when the release has none." }),
    rootNotes: z.array(z.string()).meta({
      description:
        "Exchanges of the manifest keys, oldest first: C2SP signed notes, each signed by earlier and by later keys.",
    }),
    rollbackNote: z.string().nullable().meta({
      description: "C2SP signed note that permits a version older than the reported one; null for a newer one.",
    }),
  })
  .meta({ id: "OfferedUpdate" });

function offerOf(offer: Offer, publicUrl: string): z.input<typeof offered> {
  const { attemptId, version, size, sha256, manifest, rootNotes } = offer;
  return {
    attemptId,
    component: component.parse(offer.component),
    version,
    url: `${publicUrl}${downloadPath(offer, { component: offer.component, version, sha256 })}`,
    size: Number(size),
    sha256,
    manifest: manifest || null,
    rootNotes,
    rollbackNote: offer.rollbackNote || null,
  };
}

const byteCount = z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish();

const heartbeat = route({
  method: "POST",
  path: "/agents/:id/heartbeat",
  access: { auth: "agent", whileQuarantined: true },
  tag,
  summary: "Report that the device is online",
  description: "The reply is sent once the heartbeat is stored.",
  params: idParams,
  body: z.object({
    agentVersion: versionIn,
    watchdogVersion: optionalVersion,
    status: z.string().max(50).nullish().meta({ description: "Facts that the agent reports about its device." }),
    metrics: metrics.nullish().meta({
      description: "Of `cpu.percent`, `memory.percent` and `disk.percent` a history is kept.",
    }),
    ipAddresses: z.array(addressIn).max(32).nullish(),
    helperVersion: optionalVersion,
    hostname: nameIn.nullish().meta({ description: "Of the machine; a name that people gave stays until it changes." }),
    os: os.nullish(),
    arch: arch.nullish(),
    libc: libc.nullish().meta({ description: libcIs }),
    update: z
      .object({
        component,
        version: versionIn,
        state: updateReport,
        error: z.string().max(500).nullish(),
        bytesDone: byteCount.meta({ description: "Bytes downloaded so far: more of them give the agent more time." }),
        bytesTotal: byteCount,
      })
      .nullish()
      .meta({
        description: "Progress of the offered update; without it, the progress is derived from the reported versions.",
      }),
  }),
  example: { agentVersion: "1.0.0", metrics: { cpu: 0.25 } },
  load: "ingest",
  reply: z.object({
    status: z.enum(["online", "updating", "quarantined"]).meta({ description: "Status of the device." }),
    serverTime: timeOut,
    heartbeatIntervalSeconds: interval,
    upgradeTo: z.string().nullable().meta({ description: "Version to which the agent is to update now." }),
    watchdogUpgradeTo: z.string().nullable(),
    helperUpgradeTo: z.string().nullable(),
    updates: z.array(offered).meta({ description: "At most one; empty when there is nothing to do." }),
  }),
  async handle({ session, body, meta }, { heartbeats, publicUrl }) {
    const { agentVersion, watchdogVersion, helperVersion, hostname, os, arch, libc, ...said } = body;
    const { update } = said;
    const reported = Object.entries(said).filter(([, value]) => value !== null && value !== undefined);
    const { requestId, clientAddress, userAgent } = meta();
    const report = update ? reportOf(update) : null;
    const wanted = {
      deviceId: session.id,
      orgId: session.record.orgId,
      agentVersion,
      watchdogVersion: watchdogVersion ?? "",
      helperVersion: helperVersion ?? "",
      hostname: hostname ?? "",
      os: os ?? "",
      arch: arch ?? "",
      libc: libc ?? "",
      ...sharesOf(said.metrics),
      reportedJson: reported.length > 0 ? JSON.stringify(Object.fromEntries(reported)) : "",
      clientAddress: clientAddress ?? "",
      userAgent: userAgent ?? "",
      requestId,
    };
    const { status, heartbeatIntervalSeconds, offers } = await heartbeats(wanted, report);
    if (status === "") throw new AppError("agent_not_found", "Agent not found");
    if (status === "decommissioned") throw new AppError("agent_token_revoked", "Agent token is revoked");
    const versionOf = (component: UpdateReport["component"]) =>
      offers.find((offer) => offer.component === component)?.version ?? null;
    return {
      status: status as "online",
      serverTime: new Date().toISOString(),
      heartbeatIntervalSeconds,
      upgradeTo: versionOf("agent"),
      watchdogUpgradeTo: versionOf("watchdog"),
      helperUpgradeTo: versionOf("helper"),
      updates: offers.map((offer) => offerOf(offer, publicUrl)),
    };
  },
});

/** The metrics that have a history. */
function sharesOf(metrics: Readonly<Record<string, number>> | null | undefined) {
  const { "cpu.percent": cpuPercent, "memory.percent": memoryPercent, "disk.percent": diskPercent } = metrics ?? {};
  return {
    ...(cpuPercent === undefined ? {} : { cpuPercent }),
    ...(memoryPercent === undefined ? {} : { memoryPercent }),
    ...(diskPercent === undefined ? {} : { diskPercent }),
  };
}

type Update = Pick<UpdateReport, "component" | "version" | "state"> & {
  [K in "error" | "bytesDone" | "bytesTotal"]?: (K extends "error" ? string : number) | null | undefined;
};

function reportOf({ component: of, version, state, error, bytesDone, bytesTotal }: Update): UpdateReport {
  const bytes = { bytesDone: BigInt(bytesDone ?? 0), bytesTotal: BigInt(bytesTotal ?? 0) };
  return { component: of, version, state, error: error ?? "", ...bytes };
}

const rotateToken = route({
  method: "POST",
  path: "/agents/:id/rotate-token",
  audit: "agent.token.rotate",
  auditResource: "device",
  access: { auth: "agent", whileQuarantined: true },
  tag,
  summary: "Get a new token",
  description:
    "The token of this request stays valid until the first use of the new one; from then on it is refused everywhere. A new token " +
    "that was never used becomes void when another one is requested.",
  params: z.object({ id }),
  idempotent: true,
  noStore: true,
  load: "ingest",
  reply: z.object({ token }),
  async handle({ rpc }, { services }) {
    const { token: next } = await services.agents.rotateToken({}, await rpc());
    return { token: next };
  },
});

export const agentRoutes: readonly Route[] = [enroll, heartbeat, rotateToken];
