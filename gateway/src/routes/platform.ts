import { z } from "zod";
import { Rendered } from "../http/reply.ts";
import { type Route, route } from "../route.ts";
import { objectOut } from "./schemas.ts";

const tag = "Platform";

const health = route({
  method: "GET",
  path: "/health",
  atRoot: true,
  access: { auth: "none" },
  tag,
  summary: "Version and state of the platform",
  description: "Answers 200 while the gateway serves; `degraded` when a service is away or starting.",
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

const openApi = route({
  method: "GET",
  path: "/openapi.json",
  access: { auth: "none" },
  tag,
  summary: "This document",
  reply: objectOut,
  handle: (_request, deps) => new Rendered(deps.openApiText()),
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

export const platformRoutes: readonly Route[] = [health, openApi, jwks];
