import { cspLine } from "@muster/kit";

/**
 * Header lines of the console's HTML: nothing from elsewhere, no inline script or style, no text that becomes script,
 * and in frames of the given origins alone.
 */
export function pageHeaders(
  imageOrigin: string | null,
  embedOrigins: readonly string[] = [],
): Readonly<Record<string, string>> {
  const policy = cspLine({
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "font-src": ["'self'"],
    "img-src": ["'self'", "data:", ...(imageOrigin === null ? [] : [imageOrigin])],
    "connect-src": ["'self'"],
    "base-uri": ["'none'"],
    "form-action": ["'none'"],
    "frame-ancestors": embedOrigins.length > 0 ? embedOrigins : ["'none'"],
    "require-trusted-types-for": ["'script'"],
    "trusted-types": ["'none'"],
  });
  return {
    ...fileHeaders,
    ...Object.fromEntries([policy]),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
  };
}

export const fileHeaders: Readonly<Record<string, string>> = {
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};
