import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { newBranding } from "./branding.ts";

const none = { logoUrl: "", accentColor: "", headline: "" };
const image = (kind: string, hex: string, bytes = 0) =>
  `data:image/${kind};base64,${Buffer.concat([Buffer.from(hex, "hex"), Buffer.alloc(bytes)]).toString("base64")}`;
const png = "89504e470d0a1a0a";

function fieldsOf(change: Partial<typeof none>): string[] {
  try {
    newBranding({ ...none, ...change });
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return Object.keys((error.facts.details as { fieldErrors: object }).fieldErrors);
  }
}

describe("branding", () => {
  it.each<[string, Partial<typeof none>, string[]]>([
    ["an https logo", { logoUrl: "https://acme.example/logo.png" }, []],
    ["an http logo", { logoUrl: "http://acme.example/logo.png" }, ["logo_url"]],
    ["a logo with a password", { logoUrl: "https://a:b@acme.example/logo.png" }, ["logo_url"]],
    ["a logo on a port", { logoUrl: "https://acme.example:8443/logo.png" }, []],
    ["a logo whose host ends a directive", { logoUrl: "https://a;sandbox/x.png" }, ["logo_url"]],
    ["a logo whose host begins another policy", { logoUrl: "https://a,b/x.png" }, ["logo_url"]],
    ["a logo whose host is quoted", { logoUrl: "https://'self'/x.png" }, ["logo_url"]],
    ["a logo on any host", { logoUrl: "https://*/x.png" }, ["logo_url"]],
    ["a logo on any host, encoded", { logoUrl: "https://%2a.acme.example/x.png" }, ["logo_url"]],
    ["a logo on an IPv6 address", { logoUrl: "https://[2001:db8::7]/x.png" }, ["logo_url"]],
    ["a script", { logoUrl: "javascript:alert(1)" }, ["logo_url"]],
    ["a PNG", { logoUrl: image("png", png) }, []],
    ["a JPEG", { logoUrl: image("jpeg", "ffd8ffe0") }, []],
    ["a WebP", { logoUrl: image("webp", "524946460000000057454250") }, []],
    ["a JPEG that says PNG", { logoUrl: image("png", "ffd8ffe0") }, ["logo_url"]],
    ["an SVG", { logoUrl: image("svg+xml", "3c737667") }, ["logo_url"]],
    ["an image of 256 KiB", { logoUrl: image("png", png, 256 * 1024 - 8) }, []],
    ["an image of more than 256 KiB", { logoUrl: image("png", png, 256 * 1024 - 7) }, ["logo_url"]],
    ["a colour", { accentColor: "#0A7c66" }, []],
    ["a colour's name", { accentColor: "red" }, ["accent_color"]],
    ["a short colour", { accentColor: "#fff" }, ["accent_color"]],
    ["a headline of 120 characters", { headline: "a".repeat(120) }, []],
    ["a headline of 121", { headline: "a".repeat(121) }, ["headline"]],
    ["two lines", { headline: "a\nb" }, ["headline"]],
    ["all that is wrong at once", { logoUrl: "x", accentColor: "x" }, ["logo_url", "accent_color"]],
  ])("%s", (_case, change, fields) => {
    expect(fieldsOf(change)).toEqual(fields);
  });
});
