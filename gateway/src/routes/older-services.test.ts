import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { ListStreamsResponseSchema } from "@muster/proto/muster/audit/v1/stream_pb";
import { ListEnrollmentKeysResponseSchema } from "@muster/proto/muster/identity/v1/enrollment_key_pb";
import { ListReleasesResponseSchema } from "@muster/proto/muster/release/v1/release_pb";
import type { Deps } from "../route/deps.ts";
import type { Route, RouteRequest } from "../route/route.ts";
import { auditStreamRoutes } from "./audit/streams.ts";
import { enrollmentKeyRoutes } from "./keys/enrollment-keys.ts";
import { agentVersionRoutes } from "./releases/agent-versions.ts";

// While versions are side by side, a gateway reads replies of services that are older: what these do not say has its
// default.

const at = timestampFromDate(new Date("2026-01-31T12:00:00Z"));
const owned = { id: uuidv7(), orgId: uuidv7(), name: "N", createdBy: uuidv7(), createdAt: at };
const lists: [path: string, routes: readonly Route[], services: object, first: object][] = [
  [
    "/enrollment-keys",
    enrollmentKeyRoutes,
    {
      enrollmentKeys: {
        listEnrollmentKeys: async () =>
          create(ListEnrollmentKeysResponseSchema, { enrollmentKeys: [{ ...owned, expiresAt: at }], page: {} }),
      },
    },
    { reinstall: "quarantine" },
  ],
  [
    "/audit-logs/streams",
    auditStreamRoutes,
    {
      auditStreams: {
        listStreams: async () =>
          create(ListStreamsResponseSchema, { streams: [{ ...owned, type: "archive", status: "active" }] }),
      },
    },
    { format: "muster", envelope: null },
  ],
  [
    "/agent-versions",
    agentVersionRoutes,
    {
      releases: {
        listReleases: async () => {
          const artifacts = [{ os: "linux", arch: "amd64", name: "agent" }];
          const release = {
            ...owned,
            component: "agent",
            version: "1.0.0",
            source: "api",
            guardState: "running",
            artifacts,
          };
          return create(ListReleasesResponseSchema, { releases: [release], page: {} });
        },
      },
    },
    { artifacts: [expect.objectContaining({ libc: "gnu" })] },
  ],
];

it.each(lists)("GET %s reads the records of a service of 0.1.0", async (path, routes, services, first) => {
  const found = routes.find((each) => each.method === "GET" && each.path === path);
  const request = { query: {}, rpc: async () => ({}) } as unknown as RouteRequest;
  const reply = (await found?.handle(request, { services } as unknown as Deps)) as { data: object[] };
  expect(reply.data).toEqual([expect.objectContaining(first)]);
});
