import { z } from "zod";

/** Systems and processors that the agent is built for. */
export const os = z.enum(["windows", "linux", "darwin"]);
export const arch = z.enum(["amd64", "arm64", "386"]);
