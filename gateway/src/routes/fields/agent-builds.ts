import { z } from "zod";

/** Systems and processors that the agent is built for. */
export const os = z.enum(["windows", "linux", "darwin"]);
export const arch = z.enum(["amd64", "arm64", "386"]);

/** What an agent reports about the offer that it works on. */
export const updateReport = z.enum(["downloading", "installing", "locked", "failed", "rolled_back"]);
