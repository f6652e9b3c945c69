import { z } from "zod";
import { type Route, route } from "../route/route.ts";

const echo: Route = route({
  method: "POST",
  path: "/test/echo",
  access: { auth: "none" },
  tag: "Platform",
  summary: "Says what it got",
  body: z.object({
    text: z.string().optional(),
    any: z.unknown().optional(),
    own: z.record(z.string(), z.unknown()).nullish(),
  }),
  bodyLimitBytes: 1_000,
  reply: z.object({ text: z.string().nullable() }),
  handle: ({ body }) => ({ text: body.text ?? null }),
});

const slashes: Route = route({
  method: "GET",
  path: "/test/logs/:name/events",
  access: { auth: "none" },
  tag: "Platform",
  summary: "A parameter that holds slashes",
  params: z.object({ name: z.string() }),
  slashes: ["name"],
  reply: z.object({ name: z.string() }),
  handle: ({ params }) => ({ name: params.name }),
});

const broken: Route = route({
  method: "GET",
  path: "/test/broken",
  access: { auth: "none" },
  tag: "Platform",
  summary: "Fails",
  reply: z.object({}),
  handle: () => {
    throw new Error("secret of the inside");
  },
});

/** Rows that let a test see what the edge made of a request. */
export const edgeRows: readonly Route[] = [echo, slashes, broken];
