import { expect, it } from "@jest/globals";
import { proxyFor } from "./env-proxy.ts";

const proxy = "http://proxy.example:3128";

it.each<[string, Record<string, string>, string | null]>([
  ["https://muster.example", { HTTPS_PROXY: proxy }, proxy],
  ["https://muster.example", { https_proxy: proxy, HTTPS_PROXY: "http://other.example" }, proxy],
  ["https://muster.example", { HTTP_PROXY: proxy }, proxy],
  ["http://127.0.0.1:8080", { HTTPS_PROXY: proxy }, null],
  ["http://127.0.0.1:8080", { http_proxy: proxy }, proxy],
  ["https://muster.example", {}, null],
  ["https://muster.example", { HTTPS_PROXY: "" }, null],
  ["https://muster.example", { HTTPS_PROXY: proxy, NO_PROXY: "*" }, null],
  ["https://muster.example", { HTTPS_PROXY: proxy, NO_PROXY: "a.example, muster.example" }, null],
  ["https://eu.muster.example", { HTTPS_PROXY: proxy, NO_PROXY: ".muster.example" }, null],
  ["https://notmuster.example", { HTTPS_PROXY: proxy, NO_PROXY: "muster.example" }, proxy],
  ["https://muster.example", { HTTPS_PROXY: proxy, NO_PROXY: "muster.example:8443" }, proxy],
  ["https://muster.example:8443", { HTTPS_PROXY: proxy, no_proxy: "muster.example:8443" }, null],
])("%s with %j goes through %s", (url, env, expected) => {
  expect(proxyFor(url, env)).toBe(expected);
});
