import { describe, expect, it } from "@jest/globals";
import { browserOf, openBrowser } from "./browser.ts";

describe("the browser that opens for a sign-in", () => {
  it.each([
    ["the user's own choice", { BROWSER: "firefox", SSH_CONNECTION: "x" }, "linux", ["firefox"]],
    ["the desktop's on Linux", { DISPLAY: ":0" }, "linux", ["xdg-open"]],
    ["the desktop's under Wayland", { WAYLAND_DISPLAY: "wayland-0" }, "linux", ["xdg-open"]],
    ["the system's on macOS", {}, "darwin", ["open"]],
    ["the system's on Windows", {}, "win32", ["rundll32", "url.dll,FileProtocolHandler"]],
    ["none without a desktop", {}, "linux", null],
    ["none at the other end of ssh", { SSH_CONNECTION: "x", DISPLAY: ":0" }, "linux", null],
  ])("is %s", (_what, env, system, expected) => {
    expect(browserOf(env, system)).toEqual(expected);
  });

  it.each(["file:///etc/passwd", "javascript:alert(1)", "not an address", ""])("never opens %j", (address) => {
    expect(openBrowser({ BROWSER: "/bin/false" }, address)).toBe(false);
  });
});
