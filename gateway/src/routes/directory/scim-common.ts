import { z } from "zod";

/** Properties shared by every route of SCIM. */
export const common = {
  access: { auth: "directory" },
  dialect: "scim",
  tag: "SCIM",
  contentType: "application/scim+json",
  gzip: true,
  deadline: "report",
} as const;

/** A ListResponse (RFC 7644, section 3.4.2). */
export const list = z.looseObject({ schemas: z.array(z.string()), totalResults: z.int() });
