import { z } from "zod";
import { apiPrefix } from "../../route/route.ts";

/** Systems and processors that the agent is built for. */
export const os = z.enum(["windows", "linux", "darwin"]);
export const arch = z.enum(["amd64", "arm64", "386"]);
/** C library of a Linux system: programs are built for one of them. */
export const libc = z.enum(["gnu", "musl"]);

/** Path of a build's file; `query` names which one. */
export function downloadPath(build: { os: string; arch: string; libc: string }, query: Record<string, string>): string {
  const all = new URLSearchParams({ ...query, ...(build.libc === "musl" ? { libc: "musl" } : {}) });
  return `${apiPrefix}/agents/download/${build.os}/${build.arch}?${all}`;
}

/** What an agent reports about the offer that it works on. */
export const updateReport = z.enum(["downloading", "installing", "locked", "failed", "rolled_back"]);
