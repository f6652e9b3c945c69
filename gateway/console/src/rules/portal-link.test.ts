import { describe, expect, it } from "@jest/globals";
import { codeOf, linkIdOf, sentLink } from "./portal-link.ts";

const linkId = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";
const parent = {};
const own = { origin: "https://muster.example.com", parent, embedOrigins: ["https://app.example.com"] };
const url = `https://muster.example.com/portal/${linkId}#code=ptc_1`;
const sent = { origin: "https://app.example.com", source: parent, data: { type: "muster.portal.open", url } };

describe("the address of a portal", () => {
  it("has the link in its path and the code behind #", () => {
    expect([linkIdOf(`/portal/${linkId}`), linkIdOf("/portal/x"), linkIdOf("/")]).toEqual([linkId, null, null]);
    expect([codeOf("#code=ptc_1"), codeOf(""), codeOf("#code=")]).toEqual(["ptc_1", null, null]);
  });
});

describe("a new link by message", () => {
  it("is taken from the embedding page of an allowed origin", () => {
    expect(sentLink(sent, own)).toEqual({ linkId, code: "ptc_1" });
  });

  it.each([
    ["another window", { source: {} }],
    ["a stranger's origin", { origin: "https://evil.example" }],
    ["an origin of a longer name", { origin: "https://app.example.com.evil.example" }],
    ["no object", { data: "muster.portal.open" }],
    ["nothing", { data: null }],
    ["another type", { data: { ...sent.data, type: "muster.portal.refresh" } }],
    ["another host", { data: { ...sent.data, url: `https://evil.example/portal/${linkId}#code=ptc_1` } }],
    ["another page", { data: { ...sent.data, url: "https://muster.example.com/login#code=ptc_1" } }],
    ["no code", { data: { ...sent.data, url: `https://muster.example.com/portal/${linkId}` } }],
    ["no address", { data: { ...sent.data, url: 1 } }],
  ])("is not taken from %s", (_what, change) => {
    expect(sentLink({ ...sent, ...change }, own)).toBeNull();
  });
});
