import { describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { loadConfig } from "./config.ts";
import { publicAddresses, publicAddressSettings } from "./public-addresses.ts";

const [a, b, c] = ["https://a.example", "https://b.example", "https://c.example"];
const nothing = "http://localhost:3000";

describe("the addresses of a deployment", () => {
  it.each([
    [{}, nothing, nothing],
    [{ PUBLIC_URL: a }, a, a],
    [{ PUBLIC_APP_URL: b }, b, b],
    [{ DASHBOARD_URL: c }, c, c],
    [{ PUBLIC_URL: a, PUBLIC_APP_URL: b }, a, b],
    [{ PUBLIC_URL: a, DASHBOARD_URL: c }, a, c],
    [{ PUBLIC_APP_URL: b, DASHBOARD_URL: c }, b, c],
    [{ PUBLIC_URL: `${a}/`, PUBLIC_APP_URL: `${b}//`, DASHBOARD_URL: c }, a, c],
  ])("from %j are %s and the app's %s", (env, publicUrl, appUrl) => {
    expect(publicAddresses(loadConfig(z.object(publicAddressSettings), env))).toEqual({ publicUrl, appUrl });
  });
});
