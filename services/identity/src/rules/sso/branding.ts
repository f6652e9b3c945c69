import { cspOrigin, type FieldErrors, longerThan, validationError } from "@muster/kit";

export type Branding = { logo_url: string | null; accent_color: string | null; headline: string | null };

const maxUrl = 2_048;
const maxImageBytes = 256 * 1024;
const dataUrl = /^data:image\/(png|jpeg|webp);base64,([A-Za-z0-9+/]+={0,2})$/;

/** First bytes of each kind of image that may stand in a data: URL; anything else under its name is refused. */
const isImage: Readonly<Record<string, (bytes: Buffer) => boolean>> = {
  png: (bytes) => bytes.subarray(0, 8).equals(Buffer.from("89504e470d0a1a0a", "hex")),
  jpeg: (bytes) => bytes.subarray(0, 3).equals(Buffer.from("ffd8ff", "hex")),
  webp: (bytes) => bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP",
};

/** A partner's branding as people send it; an empty text is none. Throws `validation_failed`. */
export function newBranding({
  logoUrl,
  accentColor,
  headline,
}: {
  logoUrl: string;
  accentColor: string;
  headline: string;
}): Branding {
  const errors: FieldErrors = {};
  const error = logoUrl === "" ? null : logoError(logoUrl);
  if (error) errors.logo_url = [error];
  if (accentColor !== "" && !/^#[0-9a-fA-F]{6}$/.test(accentColor)) errors.accent_color = ["Must be #rrggbb"];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (longerThan(headline, 120) || /[\u0000-\u001f\u007f]/.test(headline)) {
    errors.headline = ["At most 120 characters on one line"];
  }
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return { logo_url: logoUrl || null, accent_color: accentColor || null, headline: headline.trim() || null };
}

function logoError(text: string): string | null {
  if (text.startsWith("data:")) {
    const [, kind = "", base64 = ""] = dataUrl.exec(text) ?? [];
    const bytes = Buffer.from(base64, "base64");
    if (bytes.length > maxImageBytes) return "At most 256 KiB";
    return isImage[kind]?.(bytes) ? null : "Must be a PNG, JPEG or WebP image as a base64 data: URL";
  }
  if (longerThan(text, maxUrl)) return `At most ${maxUrl} characters`;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url?.protocol === "https:" && url.username === "" && url.password === "";
  if (!isPlain) return "Must be an https URL, or a data: URL of an image";
  // The host becomes a part of the sign-in page's content security policy.
  return cspOrigin(text) === null ? "The host must be a name of letters, digits, hyphens and dots" : null;
}
