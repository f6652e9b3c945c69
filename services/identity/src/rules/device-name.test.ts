import { describe, expect, it } from "@jest/globals";
import { deviceName } from "./device-name.ts";

describe("deviceName", () => {
  it.each([
    ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox on Linux"],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
      "Chrome on Windows",
    ],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0",
      "Edge on Windows",
    ],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Safari/605.1.15",
      "Safari on macOS",
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Version/17.0 Mobile/15E148 Safari/604.1",
      "Safari on iPhone",
    ],
    ["curl/8.1.2", "curl/8.1.2"],
    ["node", "node"],
    ["", "Unknown device"],
    [null, "Unknown device"],
    [" (x)", "Unknown device"],
    ["python-requests/2.31.0", "python-requests/2.31.0"],
    ["Go-http-client/1.1", "Go-http-client/1.1"],
    ["agent/v2-rc", "agent"],
    ["https://evil.example/unlock-your-account", "Unknown device"],
    ["evil.example/1", "Unknown device"],
    ["evil/1.example.com", "evil"],
    ["me@evil.example", "Unknown device"],
    ["x".repeat(65), "Unknown device"],
  ])("for %j is %j", (userAgent, name) => {
    expect(deviceName(userAgent)).toBe(name);
  });
});
