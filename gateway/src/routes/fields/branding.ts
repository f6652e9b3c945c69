import type { LoginBranding } from "@muster/proto/muster/identity/v1/sso_login_pb";
import { z } from "zod";

/** A partner's look of the pages that its customers see. */
export const branding = z
  .object({
    logo_url: z.string().nullable().meta({
      description:
        "HTTPS URL of a host of letters, digits, hyphens and dots, or a base64 data: URL of PNG, JPEG or WebP.",
    }),
    accent_color: z.string().nullable().meta({ description: "Color as `#rrggbb`." }),
    headline: z.string().nullable(),
  })
  .meta({ id: "LoginBranding" });

export function brandingOf(message: LoginBranding | undefined): z.input<typeof branding> {
  if (!message) throw new Error("identity answered without a branding");
  const { logoUrl, accentColor, headline } = message;
  return { logo_url: logoUrl || null, accent_color: accentColor || null, headline: headline || null };
}
