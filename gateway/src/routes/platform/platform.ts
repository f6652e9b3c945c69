import { serviceNames } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { z } from "zod";
import { Rendered } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { objectOut } from "../fields/schemas.ts";

const tag = "Platform";

const health = route({
  method: "GET",
  path: "/health",
  atRoot: true,
  access: { auth: "none" },
  tag,
  summary: "Version and state of the platform",
  description: "Answers 200 while the gateway serves; `degraded` when a service is unavailable or starting.",
  deadline: "health",
  load: "vital",
  reply: z
    .object({
      status: z.enum(["ok", "degraded"]),
      version: z.string(),
      services: z.record(
        z.string(),
        z.object({ status: z.enum(["ok", "starting", "unavailable"]), version: z.string().nullable() }),
      ),
    })
    .meta({ id: "Health" }),
  handle: (_request, deps) => deps.health(),
});

const serviceStatus = z
  .object({
    service: z.string(),
    status: z.enum(["ok", "starting", "unavailable"]),
    version: z.string().nullable(),
    checks: z.record(z.string(), z.string()).meta({ description: "Dependencies of the process that answered." }),
    outbox: z.object({ waiting: z.int(), oldestSeconds: z.number() }).nullable().meta({
      description: "Messages that wait to be published, counted up to 100,000.",
    }),
    deadLetters: z.int().nullable().meta({ description: "Dead letters that were not requeued." }),
    openJobs: z.int().nullable().meta({ description: "Long-running jobs that are queued or running." }),
    deliveries: z.object({ due: z.int(), oldestDueSeconds: z.number() }).nullable().meta({
      description: "Webhook deliveries that are due and not sent, counted up to 100,000; webhook-dispatcher only.",
    }),
  })
  .meta({ id: "ServiceStatus" });

const difference = z
  .object({
    setting: z.string(),
    values: z.record(z.string(), z.string()).meta({ description: "Its value by process." }),
  })
  .meta({
    id: "DifferentSetting",
    description:
      "A setting that must be the same everywhere and is not; compared with one process of each service a minute.",
  });

const newerRelease = z
  .object({ version: z.string(), url: z.string().nullable().meta({ description: "Where people read about it." }) })
  .meta({
    id: "NewerRelease",
    description: "A release of the platform that is newer than this one (RELEASE_FEED_URL).",
  });

const status = route({
  method: "GET",
  path: "/platform/status",
  access: { auth: "session", permission: "platform:admin", scopes: ["system"] },
  tag,
  summary: "Pending messages and dead letters of each service, settings that differ, and a newer release",
  description: "All figures of a service that does not answer are null.",
  deadline: "health",
  reply: z.object({
    version: z.string(),
    newerRelease: newerRelease.nullable(),
    services: z.array(serviceStatus),
    differentSettings: z.array(difference),
  }),
  async handle({ rpc }, { services: { statuses }, version, differentSettings }) {
    let newer: z.input<typeof newerRelease> | null = null;
    const services = serviceNames.map(async (service): Promise<z.input<typeof serviceStatus>> => {
      const away = { outbox: null, deadLetters: null, openJobs: null, deliveries: null };
      try {
        const found = await statuses[service].getStatus({}, await rpc());
        const due = found.deliveriesDue;
        if (found.newerRelease) newer = { version: found.newerRelease.version, url: found.newerRelease.url ?? null };
        return {
          service,
          status: found.ready ? "ok" : "starting",
          version: found.version,
          checks: found.checks,
          outbox: { waiting: Number(found.outboxWaiting), oldestSeconds: found.outboxOldestSeconds },
          deadLetters: Number(found.deadLetters),
          openJobs: Number(found.openJobs),
          deliveries:
            due === undefined ? null : { due: Number(due), oldestDueSeconds: found.deliveriesOldestDueSeconds ?? 0 },
        };
      } catch (error) {
        // A refusal concerns the caller, not the service; the cause of an unavailable service is in its own log.
        if (["permission_denied", "scope_not_allowed"].includes(toAppError(error).code)) throw error;
        return { service, status: "unavailable", version: null, checks: {}, ...away };
      }
    });
    const shown = await Promise.all(services);
    return { version, newerRelease: newer, services: shown, differentSettings: differentSettings() };
  },
});

const openApi = route({
  method: "GET",
  path: "/openapi.json",
  access: { auth: "none" },
  tag,
  summary: "This document",
  reply: objectOut,
  handle: (_request, deps) => deps.openApi(),
});

const jwksType = "application/jwk-set+json";

const jwks = route({
  method: "GET",
  path: "/.well-known/jwks.json",
  atRoot: true,
  access: { auth: "none" },
  tag,
  summary: "Public keys of access tokens (RFC 7517)",
  contentType: jwksType,
  reply: z.object({ keys: z.array(objectOut) }).meta({ id: "JsonWebKeySet" }),
  handle: async (_request, deps) => new Rendered(await deps.jwksText(), jwksType, "public, max-age=300"),
});

export const platformRoutes: readonly Route[] = [health, status, openApi, jwks];
