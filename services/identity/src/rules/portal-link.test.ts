import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { type AppError, portalCapabilities } from "@muster/kit";
import { CreatePortalLinkRequestSchema } from "@muster/proto/muster/identity/v1/portal_pb";
import { newPortalFields } from "./portal-link.ts";

const wanted = { name: "Acme developers", expiresInMinutes: 30 };
const fieldsOf = (change: object) => newPortalFields(create(CreatePortalLinkRequestSchema, { ...wanted, ...change }));
const wrongFields = (change: object): string[] => {
  try {
    fieldsOf(change);
    return [];
  } catch (error) {
    const { facts } = error as AppError;
    return Object.keys((facts.details as { fieldErrors: object }).fieldErrors);
  }
};

describe("the fields of a portal link", () => {
  it("allow nothing but seeing without capabilities, and name each capability once", () => {
    expect(fieldsOf({})).toEqual({
      name: "Acme developers",
      capabilities: [],
      embedOrigins: [],
      refreshUrl: null,
      minutes: 30,
    });
    expect(fieldsOf({ capabilities: [...portalCapabilities, "rotate_secrets"] }).capabilities).toEqual([
      ...portalCapabilities,
    ]);
  });

  it.each([
    ["name", { name: " " }],
    ["capabilities", { capabilities: ["everything"] }],
    ["capabilities", { capabilities: ["manage_webhooks"], readOnly: true }],
    ["expiresInMinutes", { expiresInMinutes: 0 }],
    ["expiresInMinutes", { expiresInMinutes: 61 }],
    ["embedOrigins", { embedOrigins: Array.from({ length: 11 }, (_, n) => `https://${n}.example.com`) }],
    ["embedOrigins", { embedOrigins: ["*"] }],
    ["embedOrigins", { embedOrigins: ["https://*.example.com"] }],
    ["embedOrigins", { embedOrigins: ["https://app.example.com/"] }],
    ["embedOrigins", { embedOrigins: ["https://app.example.com; script-src *"] }],
    ["embedOrigins", { embedOrigins: ["https://App.example.com"] }],
    ["embedOrigins", { embedOrigins: ["http://app.example.com"] }],
    ["embedOrigins", { embedOrigins: ["null"] }],
    ["refreshUrl", { refreshUrl: "javascript:alert(1)" }],
    ["refreshUrl", { refreshUrl: "http://app.example.com" }],
    ["refreshUrl", { refreshUrl: "https://user:pass@app.example.com" }],
    ["refreshUrl", { refreshUrl: "https://app.example.com#here" }],
    ["refreshUrl", { refreshUrl: "/refresh" }],
  ])("refuse a wrong %s: %j", (field, change) => {
    expect(wrongFields(change)).toEqual([field]);
  });

  it("take reading capabilities in a read-only link, and plain http of a developer's own machine", () => {
    const change = { capabilities: ["reveal_secrets"], readOnly: true, embedOrigins: ["http://127.0.0.1:8080"] };
    expect(fieldsOf(change)).toMatchObject({ capabilities: ["reveal_secrets"], embedOrigins: change.embedOrigins });
    expect(fieldsOf({ refreshUrl: "https://app.example.com/portal?a=1" }).refreshUrl).toBe(
      "https://app.example.com/portal?a=1",
    );
  });
});
